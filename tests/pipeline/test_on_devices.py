"""Pictures scaled by OpenCV, as on a CPU, and by PyTorch, as on a GPU, give the same answers."""

import cv2
import pytest
import torch
from torch import Tensor

from orchestrator.detection import letterbox
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, recognize
from tests.samples import STREET, TEXTS
from workshop.benchmarks.gpu_check import differ


@pytest.fixture(scope="module")
def infer() -> Infer:
    """Networks in floats, as on a GPU; 8-bit ones answer otherwise where a pixel differs by one."""
    return load_networks(engine=Engine.TORCHSCRIPT)


def read(width: int, height: int) -> Tensor:
    """Return the street, scaled to a size."""
    bgr = cv2.resize(cv2.imread(str(STREET)), (width, height), interpolation=cv2.INTER_CUBIC)
    return torch.from_numpy(bgr)


@pytest.mark.parametrize(
    ("width", "height"),
    [
        pytest.param(1280, 720, id="scaled down"),
        pytest.param(2561, 1441, id="odd, and halved"),
    ],
)
def test_both_ways_of_scaling_give_the_same_plates(
    infer: Infer, monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    picture = read(width, height)
    opencv_plates = recognize(picture, infer)
    monkeypatch.setattr(letterbox, "resize_by_opencv", letterbox.resize_by_pytorch)
    pytorch_plates = recognize(picture, infer)
    assert {*opencv_plates.texts} >= {*TEXTS}
    assert differ(opencv_plates, pytorch_plates) == []
