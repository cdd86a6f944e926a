"""Which errors are want of memory, and which break the CUDA context."""

import weakref

import pytest
import torch

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
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(held() is None))

    def fail() -> None:
        nonlocal held
        tensor = torch.zeros(4)
        held = weakref.ref(tensor)
        raise error

    held = weakref.ref(torch.zeros(1))
    with pytest.raises(type(error)) as raised:
        fail()
    free_memory(raised.value)
    assert emptied == [True] * is_freed
