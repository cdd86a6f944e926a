"""Calibration of the reader's text scores: about 90 % of the plates scored 0.9 are right.

Source: Guo et al. 2017, "On Calibration of Modern Neural Networks" (temperature scaling). The fit
here is to whole texts: a reading is right if the best candidate is the plate's text.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.formats.plate_formats import Formats
from orchestrator.networks.lprnet import LPRNet
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from workshop.rendering.samples.synth import UNKNOWN_CORNERS, Batch, Sample, cut
from workshop.training.reader.crops import RealCrop, inner_box
from workshop.training.reader.sample_pools import to_input
from workshop.training.reader.sample_workers import make_batch
from workshop.training.reader.sources import RealPlates, Source

log = logging.getLogger(__name__)

TEMPERATURES = np.geomspace(0.3, 3.0, 31)
MIN_CROPS = 30
"""Smallest number of real crops to calibrate on; fewer crops make the fit unreliable."""
SEED = 555_555
"""Added to a run's seed, so that calibration plates are not those of training or measurement."""
SURE = 1e-4
"""Smallest distance of a score from 0 and 1, so that one wrong reading cannot dominate the loss."""


def fit_temperature(logits: Tensor, texts: Sequence[str], formats: Formats) -> float:
    """Find the temperature with the least log loss of "the best candidate is right".

    Args:
        logits: float32 [N, classes, T].
        texts: Texts of the N plates.
        formats: Formats of the plates.

    Returns:
        The temperature, from 0.3 to 3; logits are to be divided by it.
    """
    losses = [
        log_loss(*score_texts(logits, texts, formats, float(temperature)))
        for temperature in TEMPERATURES
    ]
    return float(TEMPERATURES[int(np.argmin(losses))])


def score_texts(
    logits: Tensor, texts: Sequence[str], formats: Formats, temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the score of each plate's best candidate, and whether the candidate is right.

    Plates are read with the grammar for their number of lines.
    """
    scores, right = np.zeros(len(texts)), np.zeros(len(texts), np.bool_)
    lines = np.array([1 if formats.format_of(text) else 2 for text in texts])
    for count in np.unique(lines):
        indices = np.flatnonzero(lines == count)
        grammar = Grammar.of(formats, int(count))
        readings = decode(logits[indices].numpy(), grammar, temperature=temperature)
        for index, reading in zip(indices, readings, strict=True):
            best, scores[index] = reading.candidates[0] if reading.candidates else ("", 0.0)
            right[index] = best == texts[index]
    return scores, right


def log_loss(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean negative log-likelihood of the outcomes."""
    scores = scores.clip(SURE, 1 - SURE)
    return float(-np.log(np.where(right, scores, 1 - scores)).mean())


def scale_logits(lprnet: LPRNet, temperature: float) -> None:
    """Divide a network's logits by a temperature: scale its last layer, which is linear."""
    with torch.no_grad():
        for weight in lprnet.container.parameters():
            weight.div_(temperature)


@torch.no_grad()
def calibrate(reader: nn.Module, lprnet: LPRNet, plates: Batch, formats: Formats) -> float:
    """Fit the temperature on plates that were not trained on, and put it into the weights.

    Args:
        reader: STN followed by LPRNet, crops -> logits and theta.
        lprnet: The LPRNet in it.
        plates: Crops as a detector's boxes give them, with their texts.
        formats: Formats of the plates.

    Returns:
        The temperature.
    """
    reader.eval()
    device = next(lprnet.parameters()).device
    parts = to_input(torch.from_numpy(plates.crops)).split(128)
    logits = torch.cat([reader(part.to(device))[0].cpu() for part in parts])
    temperature = fit_temperature(logits, plates.texts, formats)
    scale_logits(lprnet, temperature)
    return temperature


def choose_plates(
    held_out: RealPlates | None, source: Source | None, seed: int, plates: int, workers: int = 0
) -> Batch | None:
    """Return plates to calibrate text scores on, and log which; None if there are none.

    Args:
        held_out: Real crops that were not trained on, balanced by region. Half of the plates are
            cut with small errors, and half with training's changes: far, turned, blurred and dark.
        source: Rendered plates, used if there are too few real crops; None: not available.
        seed: Seed of the cuts, or of the rendered plates.
        plates: Number of plates.
        workers: Number of processes that render.
    """
    count = len(held_out.crops) if held_out else 0
    if held_out and count >= MIN_CROPS:
        rng = np.random.default_rng(seed)
        log.info("calibrating on %d held-out real crops", count)
        cuts = [_cut_off(rng, held_out.draw(rng)) for _ in range(plates // 2)]
        again = [held_out(rng) for _ in range(plates - plates // 2)]
        return Batch.of([*cuts, *again]).readable
    few = f"only {count} real crops were held out" if count else "no real crops were held out"
    if source is None:
        log.warning(
            "text scores are not calibrated: %s, wanted %d, and plates of these formats are not "
            "rendered", few, MIN_CROPS,
        )  # fmt: skip
        return None
    log.info("calibrated on %d rendered plates, since %s", plates, few)
    return make_batch(source, plates, seed + SEED, workers).readable


def _cut_off(rng: np.random.Generator, crop: RealCrop) -> Sample:
    box = inner_box(crop.picture)
    size_wh = box[2:] - box[:2]
    off = (rng.normal(0, [0.02, 0.05], (2, 2)) * size_wh).reshape(4)
    return Sample(cut(crop.picture, box + off, crop.lines), crop.text, UNKNOWN_CORNERS)
