"""Detector and reader in 8-bit integers, made from their weights; needs the group `train`."""

from pathlib import Path

import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from orchestrator.networks import openvino_ir, quantized
from orchestrator.networks.export import represent
from orchestrator.networks.weights import check_listed, choose_formats
from orchestrator.reading.ctc import decode
from orchestrator.reading.grammar import Grammar
from tests.samples import copy_of

pytest.importorskip("nncf", reason="needs the Poetry group train", exc_type=ImportError)
from workshop.training.quantization import render_crops, render_inputs, write_quantized


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project's weights with 8-bit forms of its own."""
    folder = copy_of("weights", tmp_path_factory.mktemp("quantized"))
    for form in folder.glob("*.int8.*"):
        form.unlink()
    paths = write_quantized(folder, pictures=4, plates=40, seed=1)
    assert [path.name for path in paths] == ["yolo.int8.xml", "lprnet.int8.xml"]
    for path in paths:
        check_listed(path)
    return folder


def test_integers_find_the_plates_where_floats_find_them(weights: Path) -> None:
    small = quantized.read("yolo", weights)
    assert small is not None
    (picture,) = render_inputs(1, seed=9)
    (floats,) = openvino_ir.Compiled(represent("yolo", weights))(picture)
    (integers,) = openvino_ir.Compiled(small)(picture)
    sure = floats[0][floats[0, :, 4] > 0.5]
    assert len(sure)
    distance = np.abs(integers[0, :, None, :4] - sure[None, :, :4]).max(2).min(0)
    assert distance.max() < 8  # pixels of 960


def test_integers_read_what_floats_read_surely(weights: Path) -> None:
    small = quantized.read("lprnet", weights)
    assert small is not None
    crops = np.concatenate(render_crops(60, 9, choose_formats(weights), weights))
    floats, integers = (
        decode(openvino_ir.Compiled(network)(crops)[0], Grammar.of(russian()))
        for network in (represent("lprnet", weights), small)
    )
    sure = [index for index, reading in enumerate(floats) if reading.score > 0.95]
    assert len(sure) > 15
    same = [integers[index].candidates[0][0] == floats[index].candidates[0][0] for index in sure]
    assert np.mean(same) > 0.95
