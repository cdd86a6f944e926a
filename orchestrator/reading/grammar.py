"""The characters that a text may have at each place, in the form for a beam search."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from orchestrator.formats.layouts import MAX_LENGTH, flatten, places_of_code
from orchestrator.formats.plate_formats import Formats


@dataclass(frozen=True, eq=False)
class Grammar:
    """Layouts as bits of a number, which show what a prefix can still become.

    Attributes:
        alphabet: The characters, in the order of the classes; the blank's class follows them.
        layouts: The places of the region code in each layout, and the factor for the probability
            of its texts: below 1 for rare ones.
        after: The layouts that allow a class, by position, 0 to `MAX_LENGTH`, and class.
        complete: The layouts that end at a length, 0 to `MAX_LENGTH`.
        codes: The region codes that exist.
        unknown_factor: Factor for the probability of a text whose region does not exist; 1 for no
            prior.
    """

    alphabet: str
    layouts: tuple[tuple[tuple[int, ...], float], ...]
    after: tuple[tuple[int, ...], ...]
    complete: tuple[int, ...]
    codes: frozenset[str] = frozenset()
    unknown_factor: float = 1.0

    @staticmethod
    @lru_cache(maxsize=8)
    def of(formats: Formats, lines: int = 1) -> Grammar:
        """Compile a country's formats of plates with this number of lines, 1 or 2."""
        nats = {layout: kind.rare_nats for kind in formats.format for layout in kind.layouts}
        factors = [math.exp(-nats[layout]) for layout in formats.layouts(lines)]
        layouts = [flatten(layout) for layout in formats.layouts(lines)]
        lengths = range(MAX_LENGTH + 1)

        def mask(flags: Iterable[bool]) -> int:
            return sum(1 << index for index, is_set in enumerate(flags) if is_set)

        def allowing(char: str, at: int) -> int:
            places = (layout[at : at + 1] for layout in layouts)
            return mask(bool(place) and formats.admits(place, char) for place in places)

        return Grammar(
            alphabet=formats.alphabet,
            layouts=tuple(zip(map(places_of_code, layouts), factors, strict=True)),
            after=tuple(tuple(allowing(char, at) for char in formats.alphabet) for at in lengths),
            complete=tuple(mask(len(layout) == n for layout in layouts) for n in lengths),
            codes=frozenset(code for region in formats.region for code in region.codes),
            unknown_factor=math.exp(-formats.unknown_region_nats),
        )

    def prior_of(self, text: str, layouts: int) -> float:
        """Return the factor for the probability of a text with these layouts, given as bits.

        The most frequent of several layouts counts, and a region that one of them knows.
        """
        pairs = _list_pairs(self, layouts)
        frequency = max([factor for _, factor in pairs])
        for places, _ in pairs:
            if not places or "".join([text[at] for at in places]) in self.codes:
                return frequency
        return frequency * self.unknown_factor

    @staticmethod
    def free(alphabet: str) -> Grammar:
        """Allow any text of up to `MAX_LENGTH` characters."""
        every, none = (1,) * len(alphabet), (0,) * len(alphabet)
        after = (every,) * MAX_LENGTH + (none,)
        return Grammar(alphabet, (((), 1.0),), after, (1,) * (MAX_LENGTH + 1))


@lru_cache(maxsize=4096)
def _list_pairs(grammar: Grammar, layouts: int) -> list[tuple[tuple[int, ...], float]]:
    """Return the layouts of a grammar that are given as bits."""
    return [pair for index, pair in enumerate(grammar.layouts) if layouts >> index & 1]
