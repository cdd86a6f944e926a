"""The pipeline's own operators for a picture, each of which is a launch on a GPU, stay few."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from orchestrator.networks.runs import Networks
from orchestrator.pipeline import Tensors, recognize
from tests.real_networks import far, large, load_int8, render, turned
from workshop.benchmarks.pictures import Picture


class Launches(TorchDispatchMode):
    """Counts operators."""

    count = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.count += 1
        return function(*args, **(kwargs or {}))


@pytest.fixture
def networks() -> Networks:
    return load_int8()


@pytest.mark.parametrize(
    ("draw", "launches", "calls"),
    # Counted: 189, 245, 415, 769, 529 and 1209.
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
    called: Counter[str] = Counter()

    def infer(name: str, tensors: Tensors) -> Tensors:
        called[name] += 1
        with _disable_current_modes():  # the operators of the networks are not the pipeline's
            return networks(name, tensors)

    picture = torch.from_numpy(draw().bgr)
    with torch.inference_mode(), Launches() as counted:
        recognize(picture, infer)
    assert called == calls
    assert 0 < counted.count <= launches
