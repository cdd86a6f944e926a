"""Training samples for the reader: pools of rendered plates and of cuts from real ones.

Making a sample costs a large part of what training on it costs. So samples are kept in a pool. Each
is used about six times, and new samples gradually replace the old ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name everybody knows

from workshop.rendering.samples.synth import Batch, Sample
from workshop.training.reader.sample_workers import CHUNK, Job, make_samples
from workshop.training.reader.sources import Source

USES = 6
"""Number of times that a sample is drawn on average."""
MOVES = ((0.025, 0.012, 0.018), (0.03, 0.04, 0.05))
"""Standard deviations of the affine transform that moves a crop; halves of its width and height."""


@dataclass(frozen=True)
class Kind:
    """One kind of samples: their source, their number in each draw, and the seed of both."""

    source: Source
    count: int
    seed: int

    @property
    def fresh(self) -> int:
        """Number of samples that are replaced after every draw."""
        return -(-self.count // USES)


class Draw(NamedTuple):
    """Samples on the training's device.

    Attributes:
        crops: (N, 24, 94, 3) uint8 BGR.
        texts: N texts.
        corners: (N, 4, 2) float32; NaN where unknown.
    """

    crops: Tensor
    texts: list[str]
    corners: Tensor

    @classmethod
    def of(cls, batch: Batch, device: torch.device | str = "cpu") -> Draw:
        crops, corners = torch.from_numpy(batch.crops), torch.from_numpy(batch.corners)
        return cls(crops.to(device), batch.texts, corners.to(device))


class _Ring:
    """The newest samples of a kind, on the training's device; sample n has the place n % size."""

    def __init__(self, size: int, device: torch.device | str) -> None:
        self.size = size
        self._crops = torch.zeros((size, 24, 94, 3), dtype=torch.uint8, device=device)
        self._corners = torch.zeros((size, 4, 2), device=device)
        self._texts = [""] * size

    def put(self, samples: Sequence[tuple[int, Sample]]) -> None:
        newest = {number % self.size: sample for number, sample in samples}
        fresh = Draw.of(Batch.of(list(newest.values())), self._crops.device)
        places = torch.tensor(list(newest), device=self._crops.device)
        self._crops[places], self._corners[places] = fresh.crops, fresh.corners
        for place, text in zip(newest, fresh.texts, strict=True):
            self._texts[place] = text

    def take(self, numbers: Sequence[int]) -> Draw:
        places = [number % self.size for number in numbers]
        there = torch.tensor(places, device=self._crops.device)
        texts = [self._texts[place] for place in places]
        return Draw(self._crops[there], texts, self._corners[there])


class Pools:
    """Pools of samples of several kinds; after every draw, new samples replace the oldest ones.

    Only the seed of a kind and the number n determine its sample n and its draw n. The process that
    makes a sample does not matter. So pools that begin at a later step have the right samples, and
    a resumed run is exactly the same.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        size: int,
        *,
        step: int = 0,
        workers: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        """Fill the pools.

        Args:
            kinds: Kinds of samples; a draw has some of each.
            size: Number of samples held of each kind.
            step: Number of draws that have been made before.
            workers: Number of processes that make the samples; 0: this process.
            device: Device that holds the samples.
        """
        self._kinds, self._step = kinds, step
        self._rings = [_Ring(size, device) for _ in kinds]
        sources = [(kind.source, kind.seed) for kind in kinds]
        self._samples = make_samples(sources, plan_jobs(kinds, size, step), workers)
        for _ in range(sum(1 for _ in _fill_jobs(kinds, size, step))):
            self._take()

    def _take(self) -> None:
        """Add the next samples to their pools; they replace the oldest ones."""
        samples_made = next(self._samples)
        for index, ring in enumerate(self._rings):
            if samples := [
                (number, sample) for (kind, number), sample in samples_made if kind == index
            ]:
                ring.put(samples)

    def draw(self) -> Draw:
        """Draw one step's samples, then replace the oldest samples in the pools."""
        parts = []
        for kind, ring in zip(self._kinds, self._rings, strict=True):
            rng = np.random.default_rng([kind.seed, 1, self._step])
            numbers = self._step * kind.fresh + rng.integers(ring.size, size=kind.count)
            parts.append(ring.take(numbers.tolist()))
        self._take()
        self._step += 1
        texts = [text for part in parts for text in part.texts]
        crops = torch.cat([part.crops for part in parts])
        return Draw(crops, texts, torch.cat([part.corners for part in parts]))

    def close(self) -> None:
        """End the workers."""
        self._samples.close()


def plan_jobs(kinds: Sequence[Kind], size: int, step: int) -> Iterator[list[Job]]:
    """Yield the jobs: first the samples that fill the pools, then each step's, without end."""
    yield from _fill_jobs(kinds, size, step)
    for step_number in count(step):
        yield [
            (index, size + step_number * kind.fresh + number)
            for index, kind in enumerate(kinds)
            for number in range(kind.fresh)
        ]


def _fill_jobs(kinds: Sequence[Kind], size: int, step: int) -> Iterator[list[Job]]:
    for index, kind in enumerate(kinds):
        first = step * kind.fresh
        for start in range(first, first + size, CHUNK):
            yield [(index, number) for number in range(start, min(start + CHUNK, first + size))]


def to_input(crops: Tensor) -> Tensor:
    """Turn (N, 24, 94, 3) uint8 BGR into the networks' input, (N, 3, 24, 94) float32 RGB."""
    return crops.flip(-1).permute(0, 3, 1, 2).float().sub_(127.5).div_(128)


def to_targets(texts: Sequence[str], alphabet: str) -> tuple[Tensor, Tensor]:
    """Turn texts into CTC targets: the classes of all texts, (sum of lengths,), and the lengths."""
    classes = [alphabet.index(char) for text in texts for char in text]
    return torch.tensor(classes), torch.tensor([len(text) for text in texts])


def vary(crops: Tensor) -> Tensor:
    """Change brightness, contrast and noise of each crop a little, so that all draws differ."""
    pixel = crops[:, :1, :1, :1]
    gain, offset = 1 + 0.15 * torch.randn_like(pixel), 0.1 * torch.randn_like(pixel)
    noise = 0.03 * torch.rand_like(pixel) * torch.randn_like(crops)
    return (crops * gain + offset + noise).clamp(-1, 1)


def move(crops: Tensor, corners: Tensor) -> tuple[Tensor, Tensor]:
    """Shift, stretch and shear each crop a little, as a detector's box does; its corners follow.

    Args:
        crops: (N, 3, 24, 94).
        corners: (N, 4, 2), -1 and 1 at the edges of the crop.
    """
    identity = torch.eye(2, 3, device=crops.device)
    off = torch.randn(len(crops), 2, 3, device=crops.device).clamp_(-2, 2)
    theta = identity + off * torch.tensor(MOVES, device=crops.device)
    grid = F.affine_grid(theta, list(crops.shape), align_corners=False)
    moved = F.grid_sample(crops, grid, "bicubic", "border", align_corners=False).clamp_(-1, 1)
    back = torch.linalg.inv(theta[:, :, :2]).transpose(1, 2)
    return moved, (corners - theta[:, None, :, 2]) @ back
