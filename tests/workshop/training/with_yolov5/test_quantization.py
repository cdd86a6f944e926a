"""The detector in 8-bit integers, made from its weights; needs the Poetry group `train`."""

from pathlib import Path

import numpy as np
import pytest

from orchestrator.networks import openvino_ir, quantized
from orchestrator.networks.export import represent
from orchestrator.networks.weights import check_listed
from tests.samples import copy_of


def test_integers_find_the_plates_where_floats_find_them(tmp_path: Path) -> None:
    pytest.importorskip("nncf", reason="needs the Poetry group train", exc_type=ImportError)
    from workshop.training.quantization import render_inputs, write_quantized

    weights = copy_of("weights", tmp_path)
    (weights / "yolo.int8.xml").unlink()
    (weights / "yolo.int8.bin").unlink()
    path = write_quantized(weights, pictures=4, seed=1)
    check_listed(path)
    small = quantized.read("yolo", weights)
    assert small is not None
    (picture,) = render_inputs(1, seed=9)
    (floats,) = openvino_ir.Compiled(represent("yolo", weights))(picture)
    (integers,) = openvino_ir.Compiled(small)(picture)
    sure = floats[0][floats[0, :, 4] > 0.5]
    assert len(sure)
    distance = np.abs(integers[0, :, None, :4] - sure[None, :, :4]).max(2).min(0)
    assert distance.max() < 8  # pixels of 960
