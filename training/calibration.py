"""Makes the reader's text scores probabilities: of the plates scored 0.9, about 90 % are right.

Source: Guo et al. 2017, "On Calibration of Modern Neural Networks" (temperature scaling), fitted
here to whole texts: whether the best candidate is the plate's text.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.ctc import decode
from orchestrator.formats import Formats
from orchestrator.grammar import Grammar
from orchestrator.networks.lprnet import LPRNet
from rendering.synth import UNKNOWN_CORNERS, Batch, Sample, cut
from training.crops import RealCrop, inner_box
from training.makers import make_batch
from training.pools import to_input
from training.sources import Source, see_again

log = logging.getLogger(__name__)

TEMPERATURES = np.geomspace(0.3, 3.0, 31)
CUTS, SEEN_AGAIN = 4, 4
"""Of each crop: a little off, as a detector's boxes are; and in other light, from elsewhere."""
LEAST_CROPS = 30
"""Fewer say little about how often a score is right."""
RENDERED = 1000
"""Plates to calibrate on where the real crops are fewer."""
SEED = 555_555
"""Added to a run's: of plates that it neither trains nor is measured on."""
SURE = 1e-4
"""Scores count as this far from 0 and 1 at least, lest one surprise outweighs all the others."""


def fit_temperature(logits: Tensor, texts: Sequence[str], formats: Formats) -> float:
    """Find the temperature with the least log loss of "the best candidate is right".

    Args:
        logits: float32 [N, classes, T].
        texts: What the N plates say.
        formats: What plates may say.

    Returns:
        What to divide logits by, from 0.3 to 3.
    """
    losses = [log_loss(*score_texts(logits, texts, formats, float(t))) for t in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(losses))])


def score_texts(
    logits: Tensor, texts: Sequence[str], formats: Formats, temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each best candidate's score, and whether it is right.

    A plate is read by the grammar of as many lines as its text has.
    """
    scores, right = np.zeros(len(texts)), np.zeros(len(texts), np.bool_)
    lines = np.array([1 if formats.format_of(text) else 2 for text in texts])
    for count in np.unique(lines):
        chosen = np.flatnonzero(lines == count)
        grammar = Grammar.of(formats, int(count))
        readings = decode(logits[chosen].numpy(), grammar, temperature=temperature)
        for index, reading in zip(chosen, readings, strict=True):
            best, scores[index] = reading.candidates[0] if reading.candidates else ("", 0.0)
            right[index] = best == texts[index]
    return scores, right


def log_loss(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Mean negative log-likelihood of what came true."""
    scores = scores.clip(SURE, 1 - SURE)
    return float(-np.log(np.where(right, scores, 1 - scores)).mean())


def scale_logits(lprnet: LPRNet, temperature: float) -> None:
    """Divide a network's logits by a temperature, in its weights: they are linear in the last."""
    with torch.no_grad():
        for weight in lprnet.container.parameters():
            weight.div_(temperature)


@torch.no_grad()
def calibrate(reader: nn.Module, lprnet: LPRNet, plates: Batch, formats: Formats) -> float:
    """Fit the temperature on plates that were not trained on, and put it into the weights.

    Args:
        reader: STN and LPRNet in a row, crops -> logits and theta.
        lprnet: The LPRNet in it.
        plates: Crops as a detector's boxes give them, and what they say.
        formats: What plates may say.

    Returns:
        The temperature.
    """
    reader.eval()
    device = next(lprnet.parameters()).device
    parts = to_input(plates.crops).split(128)
    logits = torch.cat([reader(part.to(device))[0].cpu() for part in parts])
    temperature = fit_temperature(logits, plates.texts, formats)
    scale_logits(lprnet, temperature)
    return temperature


def choose_plates(
    held_out: Sequence[RealCrop], source: Source | None, seed: int, workers: int = 0
) -> Batch | None:
    """Return what text scores are calibrated on, and say so; None where there are no such plates.

    Args:
        held_out: Real crops that were not trained on; each is cut a few times, a little off, and
            as often as training sees crops: far, turned, smeared and dark.
        source: Rendered plates, instead where the crops are too few; None: there are none.
        seed: Of the cuts, or of the rendered plates.
        workers: Processes that render.
    """
    count = len(held_out)
    if count >= LEAST_CROPS:
        rng = np.random.default_rng(seed)
        log.info("calibrating on %d held-out real crops", count)
        cuts = [_cut_off(rng, crop) for _ in range(CUTS) for crop in held_out]
        again = [see_again(rng, crop) for _ in range(SEEN_AGAIN) for crop in held_out]
        return Batch.of([*cuts, *again]).readable
    few = f"only {count} real crops were held out" if count else "no real crops were held out"
    if source is None:
        log.warning(
            "text scores are not calibrated: %s, wanted %d, and plates of these formats are not "
            "rendered", few, LEAST_CROPS,
        )  # fmt: skip
        return None
    log.info("calibrated on %d rendered plates, since %s", RENDERED, few)
    return make_batch(source, RENDERED, seed + SEED, workers).readable


def _cut_off(rng: np.random.Generator, crop: RealCrop) -> Sample:
    box = inner_box(crop.picture)
    size_wh = box[2:] - box[:2]
    off = (rng.normal(0, [0.02, 0.05], (2, 2)) * size_wh).reshape(4)
    return Sample(cut(crop.picture, box + off, crop.lines), crop.text, UNKNOWN_CORNERS)
