"""The device and the decoder of a worker's pictures."""

import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
import torch

from orchestrator.host.canary import read_canary
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.imaging.headers import Header, check_file

FILE = read_canary(None).file
HEADER = check_file(FILE, 10**7)


class Decoder:
    """Stands for a decoder of a GPU: PyTorch takes its pictures through DLPack."""

    def __init__(self, gpu: int | None = None) -> None:
        self.gpu, self.files = gpu, []

    def decode(self, file: bytes, _: Header) -> torch.Tensor | None:
        self.files.append(file)
        return torch.full((2, 3, 3), 7, dtype=torch.uint8)


@pytest.fixture
def devices(triton) -> ModuleType:
    return import_module("orchestrator.triton.devices")


def arguments(kind: str) -> dict[str, str]:
    return {"model_instance_kind": kind, "model_instance_device_id": "1"}


def test_a_cpu_gives_an_array_of_numpy(devices: ModuleType) -> None:
    picture = devices.choose_device(arguments("CPU")).decode(FILE, HEADER)
    np.testing.assert_array_equal(picture, decode_bgr(FILE))


def test_a_gpu_takes_the_memory_that_its_decoder_gives(devices: ModuleType) -> None:
    decoder = Decoder()
    picture = devices.Gpu("0", decoder).decode(FILE, HEADER)
    assert picture.tolist() == [[[7, 7, 7]] * 3] * 2
    assert decoder.files == [FILE]


def test_the_decoder_is_that_of_the_same_gpu(
    devices: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus: list[int] = []
    monkeypatch.setattr(devices, "JpegDecoder", gpus.append)
    devices.choose_device(arguments("GPU"))
    assert gpus == [1]


def test_without_nvimagecodec_opencv_decodes_for_a_gpu(
    devices: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nvidia.nvimgcodec", None)
    monkeypatch.setattr(torch.Tensor, "to", lambda self, _: self)
    picture = devices.choose_device(arguments("GPU")).decode(FILE, HEADER)
    np.testing.assert_array_equal(picture.numpy(), decode_bgr(FILE))
