"""The network that looks at the right end of a plate, its training and its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows
from torch import Tensor, nn

from orchestrator.reading.hidden_ends import PART, ROOM_XY, prepare
from workshop.training.hidden_ends.end_samples import EndSample

HIDDEN, WHOLE = 48, 80
"""Samples of each kind in a step."""
ROOM_ERRORS_XY = (0.012, 0.025)
"""Standard deviations of the room around the frame that the network sees in training."""


def build_network() -> nn.Sequential:
    """Return a new network: from [N, 1, 24, 96] to N log odds that the end is hidden."""
    layers: list[nn.Module] = []
    for before, after in ((1, 8), (8, 16), (16, 24)):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
    layers += [nn.Flatten(), nn.Dropout(0.3), nn.Linear(24 * 3 * 12, 16), nn.ReLU()]
    return nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(16, 1), nn.Flatten(0))


def train(samples: Sequence[EndSample], steps: int, seed: int) -> nn.Sequential:
    """Train on hidden and whole ends, some of each; round the weights to what the file can hold."""
    torch.manual_seed(seed)
    rng, network = np.random.default_rng(seed), build_network()
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.004, total_steps=steps)
    hidden = [sample for sample in samples if sample.is_hidden]
    whole = [sample for sample in samples if not sample.is_hidden]
    targets = torch.cat([torch.ones(HIDDEN), torch.zeros(WHOLE)])
    for _ in range(steps):
        batch = [hidden[at] for at in rng.integers(len(hidden), size=HIDDEN)]
        batch += [whole[at] for at in rng.integers(len(whole), size=WHOLE)]
        loss = F.binary_cross_entropy_with_logits(network(_vary(batch, rng)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.step()
    return network.half().float().eval()


def _vary(samples: Sequence[EndSample], rng: np.random.Generator) -> Tensor:
    """Return samples as an input, each with a little more or less room around the plate."""
    inputs = []
    for sample in samples:
        part = PART.copy()
        part[[0, 1], [0, 1]] += 2 * rng.normal(0, ROOM_ERRORS_XY) / (1 + 2 * np.array(ROOM_XY))
        inputs.append(prepare(sample.seen, part))
    return torch.from_numpy(np.stack(inputs)[:, None])


def save(network: nn.Module, file: Path) -> None:
    """Write the weights and biases as float16, in the order of the layers."""
    arrays = [parameter.detach().half().numpy() for parameter in network.parameters()]
    names = [f"{at:02}_{('weight', 'bias')[at % 2]}" for at in range(len(arrays))]
    with file.open("wb") as target:
        np.savez_compressed(target, **dict(zip(names, arrays, strict=True)))
