"""Trains the reader: STN and LPRNet together, with CTC, on rendered and real plates.

Example:
    python -m orchestrator.training.reader --out runs/reader --crops crops --drafts drafts.csv

Stop it at any time; `--resume` goes on from the last checkpoint in `--out`.
"""

import argparse
import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.ctc import collapse
from orchestrator.plates import ALPHABET
from orchestrator.training.layouts import font_glyphs
from orchestrator.training.pools import (
    Pool,
    RealCrop,
    Source,
    inner_box,
    read_crops,
    read_labels,
    real_source,
    to_input,
)
from orchestrator.training.synth import Batch, cut, sample, samples
from orchestrator.training.trainer import Schedule, Trainer

log = logging.getLogger(__name__)


def best_path(logits: Tensor) -> list[str]:
    """Read (B, 23, 18) logits: most probable class a column, repeats merged, blanks dropped."""
    return [
        "".join(ALPHABET[klass] for klass in collapse(row)) for row in logits.argmax(dim=1).tolist()
    ]


@torch.no_grad()
def read(reader: nn.Module, crops: NDArray[np.uint8], batch: int = 128) -> list[str]:
    """Read (N, 24, 94, 3) uint8 BGR crops."""
    reader.eval()
    parts = [to_input(crops[start : start + batch]) for start in range(0, len(crops), batch)]
    return [text for part in parts for text in best_path(reader(part)[0])]


def split(crops: Sequence[RealCrop], held_out: int = 11) -> tuple[list[RealCrop], list[RealCrop]]:
    """Keep the crops of every eleventh photo for validation, and their plates out of training.

    The number of the photo is the part of the file name before the underscore.
    """
    kept = [crop for crop in crops if int(crop.name.split("_")[0]) % held_out == 0]
    texts = {crop.text for crop in kept}
    return [crop for crop in crops if crop.text not in texts], kept


def cut_exactly(crops: Sequence[RealCrop]) -> NDArray[np.uint8]:
    """Cut real crops without any change: (N, 24, 94, 3) uint8 BGR."""
    whole = [inner_box(crop.picture) for crop in crops]
    return np.stack([cut(crop.picture, box) for crop, box in zip(crops, whole, strict=True)])


def accuracy(reader: nn.Module, crops: NDArray[np.uint8], texts: Sequence[str]) -> float:
    """Part of the crops that are read exactly."""
    right = [one == two for one, two in zip(read(reader, crops), texts, strict=True)]
    return sum(right) / max(1, len(right))


def train(trainer: Trainer, out: Path, font: Path | None, real: Sequence[RealCrop]) -> None:
    """Train to the end of the schedule, with a report and a checkpoint every 250 steps."""
    schedule = trainer.schedule
    kept_for_training, held_out = split(real)
    pools = _pools(schedule, trainer.step, font, kept_for_training)
    rendered = samples(600, seed=987_654)
    started, losses = time.monotonic(), [0.0]
    while trainer.step < schedule.steps:
        batch = Batch.of([one for pool, count in pools for one in pool.draw(count)])
        losses.append(trainer.train_on(batch))
        for pool, count in pools:
            pool.refresh(count // 4)
        if trainer.step % 50 == 0:
            pace = (time.monotonic() - started) / (len(losses) - 1)
            log.info("step %d loss %.3f, %.2f s", trainer.step, np.mean(losses[-50:]), pace)
        if trainer.step % 250 == 0 or trainer.step == schedule.steps:
            trainer.save(out)
            scores = [accuracy(trainer.averaged, rendered.crops, rendered.texts)]
            if held_out:
                real_texts = [crop.text for crop in held_out]
                scores.append(accuracy(trainer.averaged, cut_exactly(held_out), real_texts))
            log.info("step %d exact, rendered and real: %s", trainer.step, np.round(scores, 3))


def _pools(
    schedule: Schedule, step: int, font: Path | None, real: Sequence[RealCrop]
) -> list[tuple[Pool, int]]:
    """Pools with the number of samples that each gives to a batch."""
    real_count = round(schedule.batch * schedule.real_share) if real else 0
    glyphs = font_glyphs(font) if font else None
    draw: Source = partial(sample, font=glyphs)
    pools = [(Pool(draw, 4000, schedule.seed + step), schedule.batch - real_count)]
    if real_count:
        pools.append((Pool(real_source(real), 3000, schedule.seed + step + 1), real_count))
    return pools


def main() -> None:
    parser = argparse.ArgumentParser(description="Train STN and LPRNet.")
    parser.add_argument("--out", type=Path, required=True, help="folder for weights, checkpoints")
    parser.add_argument("--crops", type=Path, help="folder of real plates with margins")
    parser.add_argument("--drafts", type=Path, help="CSV: crop, draft_text, votes_of_9")
    parser.add_argument("--votes", type=int, default=7, help="least votes of a draft")
    parser.add_argument("--font", type=Path, help="TrueType font for some of the rendered plates")
    parser.add_argument("--steps", type=int, default=Schedule.steps)
    parser.add_argument("--batch", type=int, default=Schedule.batch)
    parser.add_argument("--rate", type=float, default=Schedule.rate)
    parser.add_argument("--real-share", type=float, default=Schedule.real_share)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of the networks")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_flush_denormal(True)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(1)
    trainer = Trainer(
        Schedule(
            steps=options.steps,
            batch=options.batch,
            rate=options.rate,
            real_share=options.real_share,
            seed=options.seed,
        )
    )
    if options.resume and (options.out / "checkpoint.pt").exists():
        trainer.load(options.out / "checkpoint.pt")
    real = []
    if options.crops and options.drafts:
        real = read_crops(options.crops, read_labels(options.drafts, options.votes))
    train(trainer, options.out, options.font, real)


if __name__ == "__main__":
    main()
