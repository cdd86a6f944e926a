"""The pipeline on NumPy's arrays answers as it does on PyTorch's tensors, and needs no PyTorch."""

import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest
import torch

from orchestrator.errors import PictureError
from orchestrator.networks.runs import Networks
from orchestrator.pipeline import read_crop, recognize
from orchestrator.settings import Settings
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
        given = {name: torch.from_numpy(np.array(array)) for name, array in tensors.items()}
        return {name: tensor.numpy() for name, tensor in super().__call__(model, given).items()}


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
    drawn: Picture = draw()
    with torch.inference_mode():
        wanted = recognize(torch.from_numpy(drawn.bgr), networks)
    got = recognize(drawn.bgr, networks)
    assert got.texts == wanted.texts
    assert [plate.xyxy for plate in got] == [plate.xyxy for plate in wanted]
    for plate, other in zip(got, wanted, strict=True):
        assert plate.text_score == pytest.approx(other.text_score, abs=IN_8_BITS)
        assert np.array(plate.corners) == pytest.approx(np.array(other.corners), abs=OF_CUTS_PX)


@pytest.mark.parametrize("height", [25, 60], ids=["one line", "two lines"])
def test_scripted_plates_are_read_alike(height: int) -> None:
    found = rows((100, 100, 200, 100 + height, 0.9), (300, 200, 420, 230, 0.8))
    texts = ("A123BC77", "TO05577")
    wanted = recognize(picture(), ScriptedInfer(found, texts))
    assert recognize(picture().numpy(), NumpyInfer(found, texts)) == wanted


def test_a_crop_is_read_alike(networks: Networks) -> None:
    (whole,) = recognize(render(1).bgr, networks)
    x0, y0, x1, y1 = map(round, whole.xyxy)
    crop = render(1).bgr[y0:y1, x0:x1]
    with torch.inference_mode():
        wanted = read_crop(torch.from_numpy(crop), networks, Settings())
    (plate,), (other,) = read_crop(crop, networks, Settings()), wanted
    assert (plate.text, plate.raw_text) == (other.text, other.raw_text) == (whole.text, whole.text)
    assert plate.character_scores == pytest.approx(other.character_scores, abs=IN_8_BITS)


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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT)
    assert done.stdout == "False\n", done.stderr
