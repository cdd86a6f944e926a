"""Training samples for the reader: pools of rendered plates and of cuts from real ones.

Making a sample costs a large part of what training on it costs. So samples are kept in a pool. Each
is used about six times, and new samples gradually replace the old ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workshop.rendering.samples.synth import Sample
from workshop.training.reader.sample_workers import CHUNK, Job, make_samples
from workshop.training.reader.sources import Source

USES = 6
"""Number of times that a sample is drawn on average."""


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


class Pools:
    """Pools of samples of several kinds; after every draw, new samples replace the oldest ones.

    Only the seed of a kind and the number n determine its sample n and its draw n. The process that
    makes a sample does not matter. So pools that begin at a later step have the right samples, and
    a resumed run is exactly the same.
    """

    def __init__(
        self, kinds: Sequence[Kind], size: int, *, step: int = 0, workers: int = 0
    ) -> None:
        """Fill the pools.

        Args:
            kinds: Kinds of samples; a draw has some of each.
            size: Number of samples held of each kind.
            step: Number of draws that have been made before.
            workers: Number of processes that make the samples; 0: this process.
        """
        self._kinds, self._step = kinds, step
        self._samples: list[deque[Sample]] = [deque(maxlen=size) for _ in kinds]
        sources = [(kind.source, kind.seed) for kind in kinds]
        self._made = make_samples(sources, plan_jobs(kinds, size, step), workers)
        for _ in range(sum(1 for _ in _fill_jobs(kinds, size, step))):
            self._take()

    def _take(self) -> None:
        """Add the next samples to their pools; they replace the oldest ones."""
        for (kind, _), sample in next(self._made):
            self._samples[kind].append(sample)

    def draw(self) -> list[Sample]:
        """Draw one step's samples, then replace the oldest samples in the pools."""
        chosen = []
        for kind, samples in zip(self._kinds, self._samples, strict=True):
            rng = np.random.default_rng([kind.seed, 1, self._step])
            chosen += [samples[i] for i in rng.integers(len(samples), size=kind.count)]
        self._take()
        self._step += 1
        return chosen

    def close(self) -> None:
        """End the workers."""
        self._made.close()


def plan_jobs(kinds: Sequence[Kind], size: int, step: int) -> Iterator[list[Job]]:
    """Yield the jobs: first the samples that fill the pools, then each step's, without end."""
    yield from _fill_jobs(kinds, size, step)
    for at in count(step):
        yield [
            (index, size + at * kind.fresh + number)
            for index, kind in enumerate(kinds)
            for number in range(kind.fresh)
        ]


def _fill_jobs(kinds: Sequence[Kind], size: int, step: int) -> Iterator[list[Job]]:
    for index, kind in enumerate(kinds):
        first = step * kind.fresh
        for begin in range(first, first + size, CHUNK):
            yield [(index, number) for number in range(begin, min(begin + CHUNK, first + size))]


def to_input(crops: NDArray[np.uint8]) -> Tensor:
    """Turn (N, 24, 94, 3) uint8 BGR into the networks' input, (N, 3, 24, 94) float32 RGB."""
    rgb = torch.from_numpy(np.ascontiguousarray(crops[..., ::-1])).permute(0, 3, 1, 2)
    return rgb.float().sub_(127.5).div_(128)


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
