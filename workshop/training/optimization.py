"""Common parts of both trainings: mixed precision, and the running average of the weights.

With a fixed decay, the random initial weights affect the average for thousands of steps. Here the
decay grows with the run, up to a limit. So the average covers the last tenth of the steps made. The
average is measured and shipped.

Source: Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training"; Polyak and Juditsky
1992 (averaging); the warm-up is that of TensorFlow's `ExponentialMovingAverage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from orchestrator.networks.engines import has_bfloat16


def autocast(device: torch.device, *, enabled: bool = True) -> torch.autocast:
    """Run networks in bfloat16 inside this context, on GPUs and on CPUs that multiply bfloat16.

    Other CPUs stay in float32: they emulate bfloat16, and a step takes twice as long.
    """
    is_quick = device.type != "cpu" or has_bfloat16()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled and is_quick)


def average_weights(network: nn.Module, most: float) -> AveragedModel:
    """Create an average of a network's weights; its first update copies the weights."""
    return AveragedModel(network, multi_avg_fn=partial(_follow, most=most))


def decay_at(updates: int, most: float) -> float:
    """Return the decay after a number of updates: the share of the old average that is kept."""
    return min(most, (1 + updates) / (10 + updates))


@torch.no_grad()
def _follow(
    average: Sequence[Tensor], weights: Sequence[Tensor], updates: Tensor | int, *, most: float
) -> None:
    torch._foreach_lerp_(list(average), list(weights), 1 - decay_at(int(updates), most))
