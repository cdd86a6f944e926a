"""The first step of the ensemble `plate_reader`, as a Python model."""

import json
from importlib import import_module

import numpy as np
import pytest
import torch

from orchestrator.networks.plate_reader_prepare import CropPreparation

CONFIG = {
    "input": [{"name": "input__0"}],
    "output": [{"name": "output__0", "data_type": "TYPE_FP32"}],
}


@pytest.fixture
def model(triton, monkeypatch):
    types = {"TYPE_FP32": np.float32}
    monkeypatch.setattr(triton, "triton_string_to_numpy", types.__getitem__, raising=False)
    worker = import_module("orchestrator.triton.crop_preparation").TritonPythonModel()
    worker.initialize({"model_config": json.dumps(CONFIG)})
    return worker


def send(triton, model, crop: np.ndarray):
    request = triton.InferenceRequest(inputs=[triton.Tensor("input__0", crop)])
    (response,) = model.execute([request])
    return response


def test_a_crop_is_prepared_as_torchscript_does(triton, model) -> None:
    crop = np.random.default_rng(2).integers(0, 256, (31, 117, 3)).astype(np.uint8)
    (answer,) = send(triton, model, crop).output_tensors()
    reference = CropPreparation()(torch.from_numpy(crop))
    assert np.allclose(answer.as_numpy(), reference.numpy(), rtol=0, atol=2e-6)


@pytest.mark.parametrize("size_hw", [(0, 4), (4001, 4000)], ids=["empty", "too large"])
def test_a_crop_of_no_or_too_many_pixels_is_refused(triton, model, size_hw) -> None:
    response = send(triton, model, np.zeros((*size_hw, 3), np.uint8))
    assert response.error().code() == triton.TritonError.INVALID_ARG
    assert "wanted 1 to 16000000 pixels" in response.error().message()
