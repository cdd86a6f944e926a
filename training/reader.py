"""Trains the reader: STN and LPRNet together, with CTC, on rendered and real plates.

`plates train reader` is the command; see docs/training.md.
"""

import logging
import zlib
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.contract import READER
from orchestrator.ctc import collapse
from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA, Formats, read_formats, russian
from orchestrator.grammar import Grammar
from orchestrator.networks.registry import NETWORKS
from rendering.russia import load_font
from rendering.synth import Batch, cut, render_sample, render_samples
from training.calibration import LEAST_CROPS, calibrate
from training.corners import teach_corners
from training.pools import (
    Pool,
    RealCrop,
    Source,
    cut_source,
    inner_box,
    read_crops,
    read_texts,
    to_input,
    vary,
)
from training.reader_trainer import CHECKPOINT, CPU, ReaderTrainer, plain_weights, settle
from training.recipes import ReaderData, ReaderRecipe, ReaderSchedule
from training.runs import Progress, complete, open_run, save_tensors
from training.starts import take_weights

log = logging.getLogger(__name__)


def best_path(logits: Tensor, alphabet: str) -> list[str]:
    """Read (B, classes, 18) logits: likeliest class a column, repeats merged, blanks dropped."""
    rows = (collapse(row, len(alphabet)) for row in logits.argmax(dim=1).tolist())
    return ["".join(alphabet[klass] for klass in row) for row in rows]


@torch.no_grad()
def read(reader: nn.Module, crops: NDArray[np.uint8], alphabet: str, batch: int = 128) -> list[str]:
    """Read (N, 24, 94, 3) uint8 BGR crops."""
    reader.eval()
    device = next((weight.device for weight in reader.parameters()), CPU)
    parts = [to_input(crops[first : first + batch]) for first in range(0, len(crops), batch)]
    return [text for part in parts for text in best_path(reader(part.to(device))[0], alphabet)]


def hold_out(crops: Sequence[RealCrop], every: int = 11) -> tuple[list[RealCrop], list[RealCrop]]:
    """Keep the crops of every eleventh photo for validation, and their plates out of training.

    The photo is the part of the file name before the first underscore, best a number.
    """
    kept = [crop for crop in crops if _photo(crop.name) % every == 0]
    texts = {crop.text for crop in kept}
    return [crop for crop in crops if crop.text not in texts], kept


def _photo(name: str) -> int:
    photo = Path(name).stem.split("_")[0]
    return int(photo) if photo.isdecimal() else zlib.crc32(photo.encode())


def cut_exactly(crops: Sequence[RealCrop]) -> NDArray[np.uint8]:
    """Cut real crops without any change: (N, 24, 94, 3) uint8 BGR."""
    whole = [inner_box(crop.picture) for crop in crops]
    return np.stack([cut(crop.picture, box) for crop, box in zip(crops, whole, strict=True)])


def accuracy(
    reader: nn.Module, crops: NDArray[np.uint8], texts: Sequence[str], alphabet: str
) -> float:
    """Part of the crops that are read exactly."""
    right = [one == two for one, two in zip(read(reader, crops, alphabet), texts, strict=True)]
    return sum(right) / max(1, len(right))


def run(
    recipe: ReaderRecipe,
    out: Path,
    *,
    formats: Path = RUSSIA,
    device: torch.device = CPU,
    resume: bool,
) -> None:
    """Train the reader of a recipe to the end, in the folder `out`, for a country's plates.

    Raises:
        SettingsError: The recipe, its data or the folder cannot be used.
        WeightsError: The weights to start from cannot.
    """
    schedule = recipe.training
    plates = read_formats(formats)
    real = _real(recipe.data, schedule, plates)
    trainer = ReaderTrainer(schedule, plates, device)
    if recipe.start and not resume:
        take_weights(trainer.reader.stn, trainer.reader.lprnet, recipe.start, plates.alphabet)
    open_run(out, recipe, CHECKPOINT, formats, resume=resume)
    if resume:
        trainer.load(out / CHECKPOINT)
        log.info("going on from step %d of %s", trainer.step, out)
    else:
        if not recipe.start and recipe.corners.steps and schedule.real_share < 1:
            drawn = render_samples(recipe.corners.plates, schedule.seed)
            teach_corners(trainer.reader.stn, drawn, recipe.corners, schedule.seed)
        trainer.average.module.load_state_dict(trainer.reader.state_dict())
        trainer.save(out)
    train(trainer, out, recipe.data.font, real)


def _real(data: ReaderData, schedule: ReaderSchedule, formats: Formats) -> list[RealCrop]:
    """Read the real crops of a recipe; see that the other plates can be rendered."""
    real: list[RealCrop] = []
    if data.crops and data.labels and schedule.real_share > 0:
        real = read_crops(data.crops, read_texts(data.labels, data.votes, formats))
    elif schedule.real_share == 1:
        raise SettingsError("real_share: wanted crops and labels for a share of 1, got none")
    if not (real and schedule.real_share == 1) and formats.alphabet != russian().alphabet:
        raise SettingsError(
            f"rendered plates: wanted the alphabet of Russian plates, got {formats.alphabet}; "
            "train on real crops alone: crops, labels, real_share = 1"
        )
    log.info("%d real crops%s", len(real), "" if real else ": every plate is rendered")
    return real


def train(trainer: ReaderTrainer, out: Path, font: Path | None, real: Sequence[RealCrop]) -> None:
    """Train to the end of the schedule; checkpoints are measured and can be served."""
    schedule = trainer.schedule
    kept_for_training, held_out = hold_out(real)
    if real and not kept_for_training:
        raise SettingsError(f"crops: wanted some of several photos, got {len(real)} of one")
    checks = _checks(schedule, held_out)
    pools = _pools(schedule, trainer.step, font, kept_for_training)
    typical = _typical(schedule, font, kept_for_training).to(trainer.device)
    progress = Progress(schedule.steps, trainer.step)
    while trainer.step < schedule.steps:
        batch = Batch.of([one for pool in pools for one in pool.draw()])
        progress.tell(trainer.step + 1, trainer.train_on(batch))
        if trainer.step % schedule.save_every == 0 or trainer.step == schedule.steps:
            settle(trainer.averaged, typical)
            trainer.save(out)
            complete(out)
            for name, (crops, texts) in checks.items():
                exact = accuracy(trainer.averaged, crops, texts, trainer.formats.alphabet)
                log.info("step %d: %.1f %% of %s read", trainer.step, 100 * exact, name)
    _calibrate(trainer, out, held_out)


def _calibrate(trainer: ReaderTrainer, out: Path, held_out: Sequence[RealCrop]) -> None:
    """Write LPRNet once more, with text scores that are probabilities."""
    if len(held_out) < LEAST_CROPS:
        log.warning("text scores are not calibrated: wanted %d held-out real plates, got %d",
                    LEAST_CROPS, len(held_out))  # fmt: skip
        return
    reader = deepcopy(trainer.averaged)
    grammar = Grammar.of(trainer.formats)
    temperature = calibrate(reader, reader.lprnet, held_out, grammar, trainer.schedule.seed)
    save_tensors(plain_weights(reader.lprnet), out / NETWORKS[READER].weights)
    complete(out)
    log.info("calibrated text scores: logits divided by %.2f", temperature)


def _checks(
    schedule: ReaderSchedule, held_out: Sequence[RealCrop]
) -> dict[str, tuple[NDArray[np.uint8], list[str]]]:
    """Crops and texts that checkpoints are measured on."""
    checks = {}
    if schedule.real_share < 1:
        rendered = render_samples(schedule.checked, seed=987_654)
        checks[f"{len(rendered.texts)} rendered plates"] = rendered.crops, rendered.texts
    if held_out:
        texts = [crop.text for crop in held_out]
        checks[f"{len(held_out)} held-out real plates"] = cut_exactly(held_out), texts
    return checks


def _typical(schedule: ReaderSchedule, font: Path | None, real: Sequence[RealCrop]) -> Tensor:
    """Crops as training sees them, the same at every step: (N, 3, 24, 94)."""
    rng = np.random.default_rng([schedule.seed, 2])
    crops = [
        source(rng).crop
        for source, count in _sources(schedule, font, real)
        for _ in range(max(1, schedule.typical * count // schedule.batch))
    ]
    torch.manual_seed(schedule.seed)
    return vary(to_input(np.stack(crops)[rng.permutation(len(crops))]))


def _pools(
    schedule: ReaderSchedule, step: int, font: Path | None, real: Sequence[RealCrop]
) -> list[Pool]:
    """Pools that together give a batch, as they are at a step."""
    return [
        Pool(source, schedule.pool, count, seed=2 * schedule.seed + index, step=step)
        for index, (source, count) in enumerate(_sources(schedule, font, real))
    ]


def _sources(
    schedule: ReaderSchedule, font: Path | None, real: Sequence[RealCrop]
) -> list[tuple[Source, int]]:
    """What a batch is made of: kinds of samples, and how many of each."""
    real_count = round(schedule.batch * schedule.real_share) if real else 0
    counts = [(render_source(font), schedule.batch - real_count), (cut_source(real), real_count)]
    return [(source, count) for source, count in counts if count]


def render_source(font: Path | None) -> Source:
    """Rendered plates, some of them with the characters of a font."""
    return partial(render_sample, font=load_font(font) if font else None)
