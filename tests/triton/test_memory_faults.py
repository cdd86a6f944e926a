"""Errors about missing memory, and errors that break the CUDA context."""

import weakref
from typing import Any

import pytest
import torch

from orchestrator.errors import ModelError, Overloaded, PictureError, PlateError
from orchestrator.imaging.headers import check_file
from orchestrator.settings import REQUEST_PARAMETERS, Settings
from orchestrator.triton.memory_faults import free_memory, has_broken_context, is_out_of_memory


@pytest.mark.parametrize(
    ("error", "is_memory", "is_broken"),
    [
        pytest.param(MemoryError(), True, False, id="python"),
        pytest.param(torch.OutOfMemoryError("CUDA out of memory."), True, False, id="pytorch"),
        pytest.param(RuntimeError("CUDA error: out of memory"), True, False, id="cuda"),
        pytest.param("Failed to increase the shared memory pool size", True, False, id="triton"),
        pytest.param("CUDA error: an illegal memory access", False, True, id="illegal access"),
        pytest.param("CUDA error: device-side assert triggered", False, True, id="assert"),
        pytest.param("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", False, True, id="cudnn"),
        pytest.param("shape '[2]' is invalid for input of size 3", False, False, id="shape"),
    ],
)
def test_errors_are_told_apart(error: Exception | str, is_memory: bool, is_broken: bool) -> None:
    assert (is_out_of_memory(error), has_broken_context(error)) == (is_memory, is_broken)


def rejection_of(parameters: dict[str, Any]) -> PlateError:
    with pytest.raises(PlateError) as rejection:
        Settings().updated(parameters)
    return rejection.value


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(rejection_of({"text_threshold": "cuda error"}), id="a value"),
        pytest.param(rejection_of({"device-side": 1}), id="a name"),
        pytest.param(rejection_of({"roi": "cudnn_status"}), id="a region"),
        pytest.param(PictureError("encoded_image: wanted a picture, out of memory"), id="a file"),
        pytest.param(KeyError("cublas_status"), id="a key"),
        pytest.param(ValueError("bad_alloc"), id="a number"),
    ],
)
def test_the_words_of_a_request_break_nothing(error: Exception) -> None:
    assert (is_out_of_memory(error), has_broken_context(error)) == (False, False)


WORDS = ("CUDA error", "out of memory", "c10::Error: CUDA driver error", "std::bad_alloc")


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", [*REQUEST_PARAMETERS, *WORDS])
def test_no_parameter_breaks_anything_by_its_words(name: str, words: str) -> None:
    error = rejection_of({name: words})
    assert (is_out_of_memory(error), has_broken_context(error)) == (False, False)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    "file", [b"%b", b"\xff\xd8\xff\xfe\x00\x20%b", b"\x89PNG\r\n\x1a\n%b", b"BM%b", b"RIFF%bWEBP"]
)
def test_no_file_breaks_anything_by_its_words(file: bytes, words: str) -> None:
    with pytest.raises(PlateError) as rejection:
        check_file(file % words.encode(), 1_000_000)
    assert not is_out_of_memory(rejection.value)
    assert not has_broken_context(rejection.value)


def test_the_words_of_a_called_model_count() -> None:
    assert has_broken_context(ModelError("yolo: CUDA error: an illegal memory access"))
    assert is_out_of_memory(Overloaded("stn: CUDA out of memory."))


@pytest.mark.parametrize(
    ("error", "is_freed"),
    [
        pytest.param(torch.OutOfMemoryError("CUDA out of memory."), True, id="memory"),
        pytest.param(ValueError("wanted a picture"), False, id="another"),
    ],
)
def test_a_call_without_memory_leaves_its_own_to_others(
    monkeypatch: pytest.MonkeyPatch, error: Exception, is_freed: bool
) -> None:
    emptied_caches: list[bool] = []
    monkeypatch.setattr(
        torch.cuda, "empty_cache", lambda: emptied_caches.append(reference() is None)
    )

    def fail() -> None:
        nonlocal reference
        tensor = torch.zeros(4)
        reference = weakref.ref(tensor)
        raise error

    reference = weakref.ref(torch.zeros(1))
    with pytest.raises(type(error)) as failure:
        fail()
    free_memory(failure.value)
    assert emptied_caches == [True] * is_freed
