"""Copies between GPU and CPU, and launches of operators, for one picture, without a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.runs import Networks
from orchestrator.pipeline import Tensors, recognize
from tests.real_networks import far, large, load_int8, render, turned
from workshop.benchmarks.pictures import Picture

GPU = torch.device("cuda:0")
TO_CPU, TO_GPU = "to the CPU", "to the GPU"
LEAVING = {"cpu", "numpy", "tolist", "item", "nonzero", "__bool__", "__float__", "__int__"}
"""Names of the functions whose answers a GPU's tensor has on the CPU."""
move, as_array = Tensor.to, torch.asarray


class OnGpu(Tensor):
    """A tensor of the CPU that passes for one of a GPU.

    It counts the crossings, and mixes with tensors of the CPU no more than a GPU's tensor does.
    """

    crossings: ClassVar[Counter[str]] = Counter()

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function == Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        if function == Tensor.device.__get__:  # type: ignore[attr-defined]
            return GPU
        name = function.__name__
        others = [arg for arg in args if type(arg) is Tensor and arg.ndim]
        if others and name != "__getitem__":
            raise RuntimeError(f"{name}: wanted all tensors on one device, got one of the CPU")
        cls.crossings[TO_GPU] += len(others)  # an index of the CPU is copied
        answer = super().__torch_function__(function, types, args, kwargs or {})
        if name not in LEAVING:
            return answer
        cls.crossings[TO_CPU] += 1
        return answer.as_subclass(Tensor) if isinstance(answer, Tensor) else answer


def move_to_gpu(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Stand in for `Tensor.to`."""
    if args[:1] != (GPU,):
        return move(tensor, *args, **kwargs)
    OnGpu.crossings[TO_GPU] += not isinstance(tensor, OnGpu)
    return tensor.as_subclass(OnGpu)


def as_array_there(data: Any, **options: Any) -> Tensor:
    """Stand in for `torch.asarray`, which makes a plain tensor of each kind of tensor."""
    return as_array(data, **options).as_subclass(OnGpu if isinstance(data, OnGpu) else Tensor)


@pytest.fixture
def crossings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    monkeypatch.setattr(Tensor, "to", move_to_gpu)
    monkeypatch.setattr(torch, "asarray", as_array_there)
    monkeypatch.setattr(OnGpu, "crossings", Counter())
    return OnGpu.crossings


@pytest.fixture
def networks() -> Networks:
    return load_int8()


@pytest.mark.parametrize(
    ("draw", "to_cpu", "to_gpu"),
    [
        pytest.param(lambda: render(0), 0, 0, id="no plate"),
        pytest.param(lambda: render(1), 1, 0, id="1 plate"),
        pytest.param(lambda: render(20), 3, 0, id="20 plates"),
        pytest.param(turned, 4, 8, id="second pass"),
        pytest.param(large, 3, 0, id="two tiles"),
        pytest.param(far, 8, 18, id="closer look"),
    ],
)
def test_a_picture_crosses_seldom(
    networks: Networks,
    crossings: Counter[str],
    draw: Callable[[], Picture],
    to_cpu: int,
    to_gpu: int,
) -> None:
    """The picture itself, and the answers of two networks, which Triton brings, do not count.

    A second pass moves the place of each cut to the GPU: two cuts for each of four plates. A plate
    that gets a closer look is read in three passes, and in both boxes. The pixels of each plate
    whose end may be hidden come to the CPU.
    """

    def infer(name: str, tensors: Tensors) -> Tensors:
        assert all(isinstance(tensor, OnGpu) for tensor in tensors.values())
        inputs = {key: tensor.as_subclass(Tensor) for key, tensor in tensors.items()}
        kind = Tensor if NETWORKS[name].answers_on_cpu else OnGpu
        return {key: tensor.as_subclass(kind) for key, tensor in networks(name, inputs).items()}

    picture = draw().bgr
    with torch.inference_mode():
        plates = recognize(torch.from_numpy(picture).as_subclass(OnGpu), infer)
    assert sorted(plates.texts) == sorted(recognize(picture, networks).texts)
    assert crossings[TO_CPU] <= to_cpu
    assert crossings[TO_GPU] <= to_gpu


class Launches(TorchDispatchMode):
    """Counts operators."""

    count = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.count += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("draw", "launches", "calls"),
    # The numbers counted were 189, 245, 415, 769, 529 and 1209.
    [
        pytest.param(lambda: render(0), 210, {"yolo": 2}, id="no plate"),
        pytest.param(lambda: render(1), 270, {"yolo": 1, "stn": 1, "lprnet": 1}, id="1 plate"),
        pytest.param(lambda: render(20), 455, {"yolo": 1, "stn": 1, "lprnet": 1}, id="20 plates"),
        pytest.param(turned, 845, {"yolo": 1, "stn": 2, "lprnet": 2}, id="second pass"),
        pytest.param(large, 580, {"yolo": 2, "stn": 1, "lprnet": 1}, id="two tiles"),
        pytest.param(far, 1330, {"yolo": 2, "stn": 6, "lprnet": 6}, id="closer look"),
    ],
)
def test_a_picture_costs_few_launches_and_calls_of_networks(
    networks: Networks, draw: Callable[[], Picture], launches: int, calls: dict[str, int]
) -> None:
    call_counts: Counter[str] = Counter()

    def infer(name: str, tensors: Tensors) -> Tensors:
        call_counts[name] += 1
        with _disable_current_modes():  # the operators of the networks are not the pipeline's
            return networks(name, tensors)

    picture = torch.from_numpy(draw().bgr)
    with torch.inference_mode(), Launches() as counter:
        recognize(picture, infer)
    assert call_counts == calls
    assert 0 < counter.count <= launches
