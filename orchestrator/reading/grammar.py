"""The characters that a text may have at each place, in the form for a beam search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from orchestrator.formats.plate_formats import MAX_LENGTH, Formats, flatten

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Codes:
    """Layouts that have the region code at the same places.

    A text is stored as a number in base `blank + 1`, whose digits are the text's classes plus one.

    Attributes:
        layouts: The layouts as bits.
        powers: Powers of the base at the places of the code's K characters in the text; int64 [K].
        weights: Powers of the base at the places of these characters in the code alone; int64 [K].
        known: The codes that exist, as sorted numbers of the base; int64, at least one.
    """

    layouts: int
    powers: Ints
    weights: Ints
    known: Ints

    def are_known(self, texts: Ints, base: int) -> npt.NDArray[np.bool_]:
        """Tell which texts [N] with these layouts name a region that exists."""
        numbers = texts[:, None] // self.powers % base @ self.weights
        nearest = self.known.searchsorted(numbers).clip(max=len(self.known) - 1)
        known: npt.NDArray[np.bool_] = self.known[nearest] == numbers
        return known


@dataclass(frozen=True, eq=False)
class Regions:
    """The texts that name a region that exists.

    Attributes:
        nameless: The layouts that name no region, as bits.
        base: The base of the numbers that represent texts.
        codes: The other layouts, grouped by the places of the code.
    """

    nameless: int
    base: int = 0
    codes: tuple[Codes, ...] = ()

    @staticmethod
    def of(formats: Formats, layouts: Sequence[str]) -> Regions:
        """Compile the one-line layouts and the region codes of a country."""
        base = formats.blank + 1
        places: dict[tuple[int, ...], int] = {}
        for index, layout in enumerate(layouts):
            found = tuple(at for at, place in enumerate(reversed(layout)) if place == "R")[::-1]
            places[found] = places.get(found, 0) | 1 << index
        nameless = places.pop((), 0)
        numbers = {found: _numbers(formats, len(found), base) for found in places}
        codes = (
            Codes(bits, base ** np.array(found), base ** np.arange(len(found))[::-1], known)
            for found, bits in places.items()
            if len(known := numbers[found])
        )
        return Regions(nameless, base, tuple(codes))

    def are_known(self, texts: Ints, layouts: Ints) -> npt.NDArray[np.bool_]:
        """Tell which texts name a region that exists, or no region at all.

        Args:
            texts: Texts as numbers, of any shape.
            layouts: Layouts of each text as bits, of the same shape.
        """
        known: npt.NDArray[np.bool_] = layouts & self.nameless != 0
        for codes in self.codes:
            having = (layouts & codes.layouts != 0) & ~known
            known[having] = codes.are_known(texts[having], self.base)
        return known


def _numbers(formats: Formats, length: int, base: int) -> Ints:
    """Return the region codes of a length as sorted numbers, in the same form as texts."""
    codes = (code for region in formats.region for code in region.codes if len(code) == length)
    numbers = []
    for code in codes:
        number = 0
        for char in code:
            number = number * base + formats.alphabet.index(char) + 1
        numbers.append(number)
    return np.array(sorted(numbers), np.int64)


@dataclass(frozen=True, eq=False)
class Grammar:
    """Layouts as bits of a number, which show what a prefix can still become.

    Attributes:
        alphabet: The characters, in the order of the classes; the blank's class follows them.
        start: All layouts.
        after: int64 [MAX_LENGTH + 1, blank], the layouts that allow a class at a position.
        complete: int64 [MAX_LENGTH + 1], the layouts that end at a length.
        regions: The texts that name a region that exists.
        unknown_factor: Factor for the probability of a text whose region does not exist; 1 for no
            prior.
        rare: Sets of layouts as bits, each with the factor for its texts, the smallest first.
    """

    alphabet: str
    start: int
    after: Ints
    complete: Ints
    regions: Regions
    unknown_factor: float = 1.0
    rare: tuple[tuple[int, float], ...] = ()

    @property
    def blank(self) -> int:
        return len(self.alphabet)

    @cached_property
    def powers(self) -> Ints:
        """The smallest codes of texts with 1 to `MAX_LENGTH` characters; int64 [MAX_LENGTH]."""
        return (self.blank + 1) ** np.arange(MAX_LENGTH)

    @cached_property
    def after_digits(self) -> Ints:
        """`after`, by a text's digits: the classes plus one, and 0 for none."""
        return np.pad(self.after, ((0, 0), (1, 0)))

    def lengths_of(self, texts: Ints) -> Ints:
        """Return the number of characters of texts, given as numbers; 0 for -1."""
        lengths: Ints = self.powers.searchsorted(texts, "right")
        return lengths

    @staticmethod
    @lru_cache(maxsize=8)
    def of(formats: Formats, lines: int = 1) -> Grammar:
        """Compile a country's formats of plates with this number of lines, 1 or 2."""
        layouts = [flatten(layout) for layout in formats.layouts(lines)]
        lengths = range(MAX_LENGTH + 1)

        def mask(allowed: Iterable[bool]) -> int:
            return sum(1 << index for index, yes in enumerate(allowed) if yes)

        def allowing(char: str, at: int) -> int:
            places = (layout[at : at + 1] for layout in layouts)
            return mask(bool(place) and formats.admits(place, char) for place in places)

        return Grammar(
            regions=Regions.of(formats, layouts),
            unknown_factor=math.exp(-formats.unknown_region_nats),
            rare=_rarities(formats, lines),
            alphabet=formats.alphabet,
            start=mask(True for _ in layouts),
            after=np.array([[allowing(char, at) for char in formats.alphabet] for at in lengths]),
            complete=np.array([mask(len(layout) == n for layout in layouts) for n in lengths]),
        )

    def priors_of(self, texts: Ints, layouts: Ints) -> npt.NDArray[np.float64]:
        """Return the factor for the probability of each text.

        The most frequent of several layouts counts.

        Args:
            texts: Texts as numbers, of any shape.
            layouts: Layouts of each text as bits, of the same shape.
        """
        known = self.regions.are_known(texts, layouts)
        frequency = np.ones(known.shape)
        for bits, factor in self.rare:
            frequency[layouts & bits != 0] = factor
        priors: npt.NDArray[np.float64] = frequency * np.where(known, 1.0, self.unknown_factor)
        return priors

    @staticmethod
    def free(alphabet: str) -> Grammar:
        """Allow any text of up to `MAX_LENGTH` characters."""
        after = np.ones((MAX_LENGTH + 1, len(alphabet)), np.int64)
        after[MAX_LENGTH] = 0
        complete = np.ones(MAX_LENGTH + 1, np.int64)
        return Grammar(alphabet, 1, after, complete, Regions(nameless=1))


def _rarities(formats: Formats, lines: int) -> tuple[tuple[int, float], ...]:
    """Return the layouts of each rarity as bits, with their factor; nothing if none is rare."""
    layouts = formats.layouts(lines)
    nats = {layout: one.rare_nats for one in formats.format for layout in one.layouts}
    bits: dict[float, int] = {}
    for index, layout in enumerate(layouts):
        bits[nats[layout]] = bits.get(nats[layout], 0) | 1 << index
    if not any(bits):
        return ()
    return tuple((bits[bit], math.exp(-bit)) for bit in sorted(bits, reverse=True))
