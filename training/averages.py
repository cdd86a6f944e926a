"""The running average of a network's weights, which is measured and shipped.

A fixed decay remembers the random weights of the beginning for thousands of steps. Here the decay
grows with the run: the average reaches over the last tenth of the steps made, up to its most.

Source: Polyak and Juditsky 1992 (averaging); the warm-up is that of TensorFlow's
`ExponentialMovingAverage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel


def average_weights(network: nn.Module, most: float) -> AveragedModel:
    """Begin an average of a network's weights; its first update sets it to them.

    Args:
        network: Its buffers are taken over as they are.
        most: Decay that the warm-up leads to.
    """
    return AveragedModel(network, multi_avg_fn=partial(_follow, most=most))


def decay_at(updates: int, most: float) -> float:
    """Return the part of the average that stays when so many updates have been made before."""
    return min(most, (1 + updates) / (10 + updates))


@torch.no_grad()
def _follow(
    average: Sequence[Tensor], weights: Sequence[Tensor], updates: Tensor | int, *, most: float
) -> None:
    torch._foreach_lerp_(list(average), list(weights), 1 - decay_at(int(updates), most))
