"""The networks as separate models on a real Triton server."""

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException


def test_the_networks_are_models_of_their_own(wire, triton) -> None:
    crops = np.zeros((3, 3, 24, 94), np.float32)
    straight = triton.infer("stn", [wire.pixels(crops)])
    assert straight.as_numpy("output__0").shape == (3, 3, 24, 94)
    assert straight.as_numpy("output__1").shape == (3, 2, 3)
    logits = triton.infer("lprnet", [wire.pixels(crops)]).as_numpy("output__0")
    assert logits.shape == (3, 24, 18)


def test_the_detector_takes_batches(wire, triton) -> None:
    net = np.full((2, 64, 96, 3), 114, np.uint8)
    rows = triton.infer("yolo", [wire.pixels(net)]).as_numpy("output__0")
    assert rows.shape[0] == 2
    assert rows.shape[2] == 6


def test_a_size_the_detector_cannot_take_is_refused_alone(wire, triton) -> None:
    with pytest.raises(InferenceServerException, match=r"cannot infer on \[1, 50, 70, 3\]"):
        triton.infer("yolo", [wire.pixels(np.zeros((1, 50, 70, 3), np.uint8))])
    assert triton.infer("yolo", [wire.pixels(np.zeros((1, 64, 64, 3), np.uint8))])
