import sys
from types import ModuleType

import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from tests.triton import fake_triton

PLATE = [100.0, 100.0, 200.0, 125.0, 0.9, 0.0]
"""Row of the detector: a box, a score, a class. So small a picture is not scaled."""


@pytest.fixture
def triton(monkeypatch) -> ModuleType:
    """A worker's view of Triton; the modules that import it are to be imported after that."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    fake_triton.forget()
    return fake_triton


@pytest.fixture
def networks(triton: ModuleType) -> ModuleType:
    """Networks that find one plate, straight, of which nothing can be read."""

    def respond(*arrays: np.ndarray):
        return triton.InferenceResponse(
            [triton.Tensor(f"output__{index}", array) for index, array in enumerate(arrays)]
        )

    def straighten(request):
        crops = request.inputs()[0].as_numpy()
        theta = np.tile(np.eye(2, 3, dtype=np.float32), (len(crops), 1, 1))
        return respond(crops, theta)

    triton.MODELS["yolo"] = lambda _: respond(np.array([[PLATE]], np.float32))
    triton.MODELS["stn"] = straighten
    triton.MODELS["lprnet"] = lambda request: respond(
        np.zeros((len(request.inputs()[0].as_numpy()), russian().classes, 18), np.float32)
    )
    return triton
