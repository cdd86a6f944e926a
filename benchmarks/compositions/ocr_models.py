"""OCR's last two steps as they are often published: every probability travels between them."""

import numpy as np

from examples.ocr.steps import postprocess_1
from orchestrator.contract import Array
from orchestrator.networks.ir import Compiled


def recognise(network: Compiled, crops: Array) -> tuple[Array]:
    """Turn crops [N, 3, 48, W] into the probabilities [N, T, C] of each step of 8 pixels."""
    return (np.concatenate([network(crop[None])[0] for crop in crops]),)


def pick(alphabet: str, every_prob: Array, *lines: Array) -> tuple[Array]:
    """Keep the likeliest of each step, and go on as the example does."""
    classes, probs = every_prob.argmax(2).astype(np.int32), every_prob.max(2)
    return postprocess_1(alphabet, classes, probs, *lines)
