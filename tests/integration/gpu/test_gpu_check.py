"""The check of the GPU on a server without one: it reports all tensors on the CPU."""

import pytest
import torch

from orchestrator.networks.registry import NETWORKS
from orchestrator.triton.placement import Placement
from workshop.benchmarks.gpu_check import check, find_astray, recognize_on
from workshop.benchmarks.pictures import render


def test_every_hop_is_told_of_and_is_on_the_cpu() -> None:
    answers, placements = recognize_on("cpu", [render(0), render(1)], at_once=1)
    assert [len(plates) for plates in answers] == [0, 1, 1, 0, 1]  # pixels, a crop, files
    assert set(placements) == {
        Placement(model, seen_by, tensor, "cpu")
        for model, network in NETWORKS.items()
        for tensor in ("input__0", *network.outputs)
        for seen_by in ("caller", "worker")
    }
    assert {placement.model for placement in find_astray(placements)} == set(NETWORKS)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU")
def test_the_gpu_answers_as_the_cpu_does() -> None:
    assert check()
