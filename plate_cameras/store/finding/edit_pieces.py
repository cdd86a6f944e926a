"""Pieces of a text of which every similar text has at least one.

A text within k edits of another one holds at least one of k + 1 pieces of it unchanged. If it holds
only one of them, each other piece has exactly one edit, and characters beside it are unchanged.

Source: G. Navarro, "A guided tour to approximate string matching", 2001, section 8 (partitioning
into exact search).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from math import prod

from plate_cameras.store.finding.text_patterns import END, GRAM, START

SHARES = {START: 1.0, END: 1.0}
DIGIT_SHARE, LETTER_SHARE, REGION_SHARE = 0.1, 0.08, 0.4
"""Frequency of each character at its position in a text; most vehicles are of few regions."""
REGION_LENGTH = 3
"""Largest number of digits of a region, at the end of a text."""
FREQUENT = 0.02
"""Share of the texts that have a piece, from which on other characters are asked for, too."""
MIN_PIECE = 2
"""Least characters of such a companion."""


@dataclass(frozen=True)
class EditPieces:
    """Pieces in their order. A similar text has one of them unchanged.

    Attributes:
        pieces: The pieces, of `GRAM` characters or more.
        frequent: The place of a piece that many texts have; None if no piece is so frequent.
        companions: Pieces of two characters or more. A similar text that has no other piece than
            the frequent one has one of them. If there are none, nothing is known.
    """

    pieces: tuple[str, ...]
    frequent: int | None = None
    companions: tuple[str, ...] = ()


def split_for_edits(text: str, edits: int) -> EditPieces:
    """Cut a text into pieces that few other texts have."""
    wrapped_text = f"{START}{text}{END}"
    shares = _estimate_shares(wrapped_text)
    lengths = min(
        _find_partitions(len(wrapped_text), edits + 1),
        key=lambda partition: sum(_estimate_frequencies(partition, shares)),
    )
    frequencies = _estimate_frequencies(lengths, shares)
    pieces = tuple(wrapped_text[start : start + length] for start, length in _find_spans(lengths))
    frequent = max(range(len(pieces)), key=lambda at: frequencies[at])
    if frequencies[frequent] <= FREQUENT:
        return EditPieces(pieces)
    return EditPieces(pieces, frequent, _find_companions(wrapped_text, lengths, frequent))


def _find_partitions(length: int, count: int) -> Iterator[tuple[int, ...]]:
    """Return the lengths of all ways to cut a text into pieces that a trigram index finds."""
    if count == 1:
        yield (length,)
        return
    for first in range(GRAM, length - GRAM * (count - 1) + 1):
        for rest in _find_partitions(length - first, count - 1):
            yield (first, *rest)


def _find_companions(wrapped_text: str, lengths: Sequence[int], frequent: int) -> tuple[str, ...]:
    """Return pieces of which one is unchanged when each piece but the frequent one has an edit."""
    spans = [range(start, start + length) for start, length in _find_spans(lengths)]
    piece = wrapped_text[spans[frequent].start : spans[frequent].stop]
    editable_places = [
        [at for at in span if wrapped_text[at] not in (START, END)]
        for number, span in enumerate(spans)
        if number != frequent
    ]
    companions = set()
    for places in product(*editable_places):
        rests = [rest for rest in _cut_out(wrapped_text, places) if _is_companion(rest, piece)]
        if not rests:
            return ()
        companions.add(max(rests, key=lambda rest: len(rest.strip(START + END))))
    # A text that has `M81` has `81`, too.
    longer = {piece for piece in companions if any(part in piece for part in companions - {piece})}
    return tuple(sorted(companions - longer))


def _cut_out(wrapped_text: str, places: Iterable[int]) -> list[str]:
    """Return what lies between some characters."""
    ends = [-1, *places, len(wrapped_text)]
    return [wrapped_text[before + 1 : after] for before, after in pairwise(ends)]


def _is_companion(rest: str, piece: str) -> bool:
    """Tell whether a trigram index finds it: two characters by those that may follow them."""
    least = MIN_PIECE if not rest.endswith(END) else GRAM
    return len(rest) >= least and rest not in piece


def _find_spans(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the start of each piece and its length."""
    return zip(accumulate(lengths, initial=0), lengths, strict=False)


def _estimate_frequencies(lengths: Sequence[int], shares: Sequence[float]) -> list[float]:
    """Estimate the share of texts that have each piece."""
    return [prod(shares[start : start + length]) for start, length in _find_spans(lengths)]


def _estimate_shares(wrapped_text: str) -> list[float]:
    """Estimate the share of texts that have each character at its place."""
    digits = len(wrapped_text) - 1 - len(wrapped_text[:-1].rstrip("0123456789"))
    first = len(wrapped_text) - 1 - min(digits, REGION_LENGTH)
    return [
        REGION_SHARE if first <= at < len(wrapped_text) - 1 else _estimate_share(char)
        for at, char in enumerate(wrapped_text)
    ]


def _estimate_share(char: str) -> float:
    return SHARES.get(char, DIGIT_SHARE if char.isdigit() else LETTER_SHARE)
