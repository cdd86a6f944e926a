"""The network that looks at the right end of a plate, its training and its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import nn

from orchestrator.reading.hidden_ends import INPUT_HW, Floats
from workshop.training.hidden_ends.end_samples import VIEWS, EndSample

HIDDEN, WHOLE = 48, 80
"""Samples of each kind in a step."""


def build_network() -> nn.Sequential:
    """Return a new network: from [N, 1, 24, 96] to N log odds that the end is hidden."""
    layers: list[nn.Module] = []
    for before, after in ((1, 8), (8, 16), (16, 24)):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
    layers += [nn.Dropout(0.3), nn.Conv2d(24, 16, (3, 12)), nn.ReLU()]
    return nn.Sequential(*layers, nn.Dropout(0.2), nn.Conv2d(16, 1, 1), nn.Flatten(0))


def train(samples: Sequence[EndSample], steps: int, seed: int) -> nn.Sequential:
    """Train on hidden and whole ends, some of each; round the weights to what the file can hold.

    One thread computes, so that the same seed gives the same bits.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng, network = np.random.default_rng(seed), build_network()
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.004, total_steps=steps)
    hidden, whole = (torch.from_numpy(views).flatten(0, 1)[:, None] for views in split(samples))
    targets = torch.cat([torch.ones(HIDDEN), torch.zeros(WHOLE)])
    for _ in range(steps):
        batch = [hidden[rng.integers(len(hidden), size=HIDDEN)]]
        batch += [whole[rng.integers(len(whole), size=WHOLE)]]
        odds = network(torch.cat(batch))
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(odds, targets).backward()
        optimizer.step()
        rates.step()
    return network.half().float().eval()


def split(samples: Sequence[EndSample]) -> tuple[Floats, Floats]:
    """Return the views [N, VIEWS, 24, 96] of hidden ends, and those of whole ones."""
    hidden = [sample.views for sample in samples if sample.is_hidden]
    whole = [sample.views for sample in samples if not sample.is_hidden]
    shape = (-1, VIEWS, *INPUT_HW)
    return np.array(hidden, np.float32).reshape(shape), np.array(whole, np.float32).reshape(shape)


def save(network: nn.Sequential, file: Path) -> None:
    """Write the weights [in, out] and biases as float16, in the order of the layers."""
    arrays = [
        parameter if parameter.ndim == 1 else parameter.permute(2, 3, 1, 0).flatten(0, 2)
        for parameter in network.parameters()
    ]
    with file.open("wb") as target:
        np.savez_compressed(target, *[array.detach().half().numpy() for array in arrays])
