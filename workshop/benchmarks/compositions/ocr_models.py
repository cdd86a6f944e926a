"""The last two steps of OCR as often published: every probability passes between them."""

import numpy as np

from examples.ocr.steps import postprocess_1
from orchestrator.contract import Array
from orchestrator.networks.openvino_ir import Compiled


def recognise(network: Compiled, crops: Array) -> tuple[Array]:
    """Return probabilities [N, T, C] for crops [N, 3, 48, W]; each step T is 8 pixels wide."""
    return (np.concatenate([network(crop[None])[0] for crop in crops]),)


def pick(alphabet: str, every_prob: Array, *lines: Array) -> tuple[Array]:
    """Select the most probable class of each step, then continue like the example."""
    classes, probs = every_prob.argmax(2).astype(np.int32), every_prob.max(2)
    return postprocess_1(alphabet, classes, probs, *lines)
