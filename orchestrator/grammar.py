"""Which characters may come where in a text, as a beam search needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from orchestrator.formats import MAX_LENGTH, Formats, flatten

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grammar:
    """Layouts as bits of a number: which of them a prefix can still become.

    Attributes:
        alphabet: The characters, in the order of the classes; the blank's class comes after them.
        start: Every layout.
        after: int64 [MAX_LENGTH + 1, blank], the layouts that allow a class at a position.
        complete: int64 [MAX_LENGTH + 1], the layouts that end at a length.
    """

    alphabet: str
    start: int
    after: Ints
    complete: Ints

    @property
    def blank(self) -> int:
        return len(self.alphabet)

    @staticmethod
    @lru_cache(maxsize=8)
    def of(formats: Formats, lines: int = 1) -> Grammar:
        """Compile a country's formats of plates with so many lines, 1 or 2."""
        layouts = [flatten(layout) for layout in formats.layouts(lines)]
        lengths = range(MAX_LENGTH + 1)

        def mask(allowed: Iterable[bool]) -> int:
            return sum(1 << index for index, yes in enumerate(allowed) if yes)

        def allowing(char: str, at: int) -> int:
            places = (layout[at : at + 1] for layout in layouts)
            return mask(bool(place) and formats.admits(place, char) for place in places)

        return Grammar(
            alphabet=formats.alphabet,
            start=mask(True for _ in layouts),
            after=np.array([[allowing(char, at) for char in formats.alphabet] for at in lengths]),
            complete=np.array([mask(len(layout) == n for layout in layouts) for n in lengths]),
        )

    @staticmethod
    def free(alphabet: str) -> Grammar:
        """Allow any text of up to `MAX_LENGTH` characters."""
        after = np.ones((MAX_LENGTH + 1, len(alphabet)), np.int64)
        after[MAX_LENGTH] = 0
        return Grammar(alphabet, start=1, after=after, complete=np.ones(MAX_LENGTH + 1, np.int64))
