"""Training samples for the reader: pools of rendered plates and of cuts from real ones.

Making a sample costs a good part of what training on it costs, so samples are kept in a pool, used
about six times each and replaced by new ones bit by bit.
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

from rendering.synth import Sample
from training.makers import CHUNK, Job, make_samples
from training.sources import Source

USES = 6
"""How often a sample is drawn, about."""


@dataclass(frozen=True)
class Kind:
    """Samples of one kind: what makes them, how many a draw has, and the seed of both."""

    source: Source
    count: int
    seed: int

    @property
    def fresh(self) -> int:
        """How many are replaced with every draw."""
        return -(-self.count // USES)


class Pools:
    """Samples of several kinds to draw from, the oldest replaced by fresh ones with every draw.

    Sample n of a kind comes from its seed and n alone, and so does draw n: pools that begin at a
    later step hold and give what they would hold and give by then, and whoever makes the samples,
    they are the same ones. So a resumed run is the very same.
    """

    def __init__(
        self, kinds: Sequence[Kind], size: int, *, step: int = 0, workers: int = 0
    ) -> None:
        """Fill the pools.

        Args:
            kinds: Of samples; a draw has some of each.
            size: Samples held of each kind.
            step: Draws that have been made before.
            workers: Processes that make the samples; 0: this one.
        """
        self._kinds, self._step = kinds, step
        self._samples: list[deque[Sample]] = [deque(maxlen=size) for _ in kinds]
        sources = [(kind.source, kind.seed) for kind in kinds]
        self._made = make_samples(sources, plan_jobs(kinds, size, step), workers)
        for _ in range(sum(1 for _ in _fill_jobs(kinds, size, step))):
            self._take()

    def _take(self) -> None:
        """Put what was made next into its pool, where it pushes the oldest out."""
        for (kind, _), sample in next(self._made):
            self._samples[kind].append(sample)

    def draw(self) -> list[Sample]:
        """Draw one step's samples, then replace the oldest in the pools."""
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
    """Yield which samples are needed: those that fill the pools, then each step's, for ever."""
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
    """Turn texts into CTC targets: all classes in one row, (sum of lengths,), and the lengths."""
    classes = [alphabet.index(char) for text in texts for char in text]
    return torch.tensor(classes), torch.tensor([len(text) for text in texts])


def vary(crops: Tensor) -> Tensor:
    """Change brightness, contrast and noise of each crop a little, so that no two draws agree."""
    one = crops[:, :1, :1, :1]
    gain, offset = 1 + 0.15 * torch.randn_like(one), 0.1 * torch.randn_like(one)
    noise = 0.03 * torch.rand_like(one) * torch.randn_like(crops)
    return (crops * gain + offset + noise).clamp(-1, 1)
