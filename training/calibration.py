"""Makes the reader's text scores probabilities: of the plates scored 0.9, about 90 % are right.

Source: Guo et al. 2017, "On Calibration of Modern Neural Networks" (temperature scaling), fitted
here to whole texts: whether the best candidate is the plate's text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from orchestrator.ctc import decode
from orchestrator.grammar import Grammar
from orchestrator.networks.lprnet import LPRNet
from rendering.synth import cut
from training.pools import RealCrop, inner_box, to_input

TEMPERATURES = np.geomspace(0.3, 3.0, 31)
CUTS = 6
"""Of each crop, a little off, as the boxes of a detector are."""
LEAST_CROPS = 30
"""Fewer say little about how often a score is right."""
SURE = 1e-4
"""Scores count as this far from 0 and 1 at least, lest one surprise outweighs all the others."""


def fit_temperature(logits: Tensor, texts: Sequence[str], grammar: Grammar) -> float:
    """Find the temperature with the least log loss of "the best candidate is right".

    Args:
        logits: float32 [N, classes, T].
        texts: What the N plates say.
        grammar: What plates may say.

    Returns:
        What to divide logits by, from 0.3 to 3.
    """
    losses = [log_loss(*score_texts(logits, texts, grammar, float(t))) for t in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(losses))])


def score_texts(
    logits: Tensor, texts: Sequence[str], grammar: Grammar, temperature: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each best candidate's score, and whether it is right."""
    best = [
        reading.candidates[0] if reading.candidates else ("", 0.0)
        for reading in decode(logits.numpy(), grammar, temperature=temperature)
    ]
    right = [candidate == text for (candidate, _), text in zip(best, texts, strict=True)]
    return np.array([score for _, score in best]), np.array(right)


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
def calibrate(
    reader: nn.Module, lprnet: LPRNet, crops: Sequence[RealCrop], grammar: Grammar, seed: int
) -> float:
    """Fit the temperature on crops that were not trained on, and put it into the weights.

    Args:
        reader: STN and LPRNet in a row, crops -> logits and theta.
        lprnet: The LPRNet in it.
        crops: At least `LEAST_CROPS` of them.
        grammar: What plates may say.
        seed: Of the cuts.

    Returns:
        The temperature.
    """
    reader.eval()
    rng = np.random.default_rng(seed)
    device = next(lprnet.parameters()).device
    cuts = [_cut_off(rng, crop) for _ in range(CUTS) for crop in crops]
    parts = to_input(np.stack(cuts)).split(128)
    logits = torch.cat([reader(part.to(device))[0].cpu() for part in parts])
    temperature = fit_temperature(logits, [crop.text for crop in crops] * CUTS, grammar)
    scale_logits(lprnet, temperature)
    return temperature


def _cut_off(rng: np.random.Generator, crop: RealCrop) -> NDArray[np.uint8]:
    box = inner_box(crop.picture)
    size_wh = box[2:] - box[:2]
    return cut(crop.picture, box + (rng.normal(0, [0.02, 0.05], (2, 2)) * size_wh).reshape(4))
