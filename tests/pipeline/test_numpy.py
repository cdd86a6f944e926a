"""The pipeline on NumPy's arrays answers as it does on PyTorch's tensors, and needs no PyTorch."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from orchestrator.errors import PictureError
from orchestrator.networks.runs import Networks
from orchestrator.pipeline import read_crop, recognize
from orchestrator.settings import Settings
from tests.child_python import run_python
from tests.real_networks import large, load_int8, render, turned
from tests.samples import PROJECT
from tests.scripted_networks import ScriptedInfer, picture, rows
from workshop.benchmarks.pictures import Picture

IN_8_BITS = 0.01
"""Scores may be so far apart: layers in 8 bits round the last bit of a crop to other numbers."""

OF_CUTS_PX = 0.02
"""Corners may be so far apart: OpenCV rounds the places of samples."""


class NumpyInfer(ScriptedInfer):
    """Scripted networks that take and give arrays of NumPy."""

    def __call__(self, model: str, tensors: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        inputs = {name: torch.from_numpy(np.array(array)) for name, array in tensors.items()}
        return {name: tensor.numpy() for name, tensor in super().__call__(model, inputs).items()}


@pytest.fixture
def networks() -> Networks:
    return load_int8()


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda: render(4), id="4 plates"),
        pytest.param(lambda: render(0), id="no plate"),
        pytest.param(turned, id="second pass"),
        pytest.param(large, id="two tiles"),
    ],
)
def test_both_libraries_give_the_same_answer(networks: Networks, draw) -> None:
    drawing: Picture = draw()
    with torch.inference_mode():
        expected_plates = recognize(torch.from_numpy(drawing.bgr), networks)
    plates = recognize(drawing.bgr, networks)
    assert plates.texts == expected_plates.texts
    assert [plate.xyxy for plate in plates] == [plate.xyxy for plate in expected_plates]
    for plate, other in zip(plates, expected_plates, strict=True):
        assert plate.text_score == pytest.approx(other.text_score, abs=IN_8_BITS)
        assert np.array(plate.corners) == pytest.approx(np.array(other.corners), abs=OF_CUTS_PX)


@pytest.mark.parametrize("height", [25, 60], ids=["one line", "two lines"])
def test_scripted_plates_are_read_alike(height: int) -> None:
    boxes = rows((100, 100, 200, 100 + height, 0.9), (300, 200, 420, 230, 0.8))
    texts = ("A123BC77", "TO05577")
    expected_plates = recognize(picture(), ScriptedInfer(boxes, texts))
    assert recognize(picture().numpy(), NumpyInfer(boxes, texts)) == expected_plates


def test_a_crop_is_read_alike(networks: Networks) -> None:
    drawing = render(1)
    crop = drawing.bgr[620:690, 540:810]
    with torch.inference_mode():
        (expected,) = read_crop(torch.from_numpy(crop), networks, Settings())
    (plate,) = read_crop(crop, networks, Settings())
    assert plate.text == expected.text != ""
    assert plate.raw_text == expected.raw_text
    assert plate.character_scores == pytest.approx(expected.character_scores, abs=IN_8_BITS)


def test_a_picture_of_another_type_is_refused() -> None:
    with pytest.raises(PictureError, match=r"got float32 \[4, 4, 3\]"):
        recognize(np.zeros((4, 4, 3), np.float32), NumpyInfer(rows()))


@pytest.mark.parametrize("module", ["pipeline", "triton.plate_recognition", "triton.plate_reader"])
def test_a_worker_on_a_cpu_imports_no_pytorch(module: str) -> None:
    code = (
        "import sys\n"
        "from tests.triton import fake_triton\n"
        "sys.modules['triton_python_backend_utils'] = fake_triton\n"
        f"import orchestrator.{module}\n"
        "print('torch' in sys.modules)\n"
    )
    process = run_python(code, check=False, cwd=PROJECT)
    assert process.stdout == "False\n", process.stderr
