"""Finds texts that differ from another one by a few characters.

A text is cut into one piece more than it allows edits. A text within these edits has one of the
pieces unchanged, moved by at most so many characters. So only texts with a common piece are
compared.

Source: G. Navarro, "A guided tour to approximate string matching", 2001, section 8 (partitioning
into exact search).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein


class SimilarTexts:
    """Texts by the hashes of their pieces, in arrays: they take some 12 bytes for each piece.

    It takes away the comparison of each text with all entries. It does not help with a list of
    which most texts share a piece.

    Args:
        edits: For each text, most characters that may differ.
    """

    def __init__(self, texts: Sequence[str], edits: Sequence[int]) -> None:
        self._texts, self._edits = texts, edits
        self._shapes = sorted({(len(text), most) for text, most in zip(texts, edits, strict=True)})
        hashes, numbers = self._hash_pieces()
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._numbers = hashes[order], numbers[order]

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return the places of similar texts with the characters that differ, the nearest first."""
        hashes = np.fromiter(self._hash_near(text), np.int64)
        starts = np.searchsorted(self._hashes, hashes, "left")
        ends = np.searchsorted(self._hashes, hashes, "right")
        spans = zip(starts, ends, strict=True)
        places = sorted({at for start, end in spans for at in self._numbers[start:end].tolist()})
        matches = process.extract(
            text,
            [self._texts[at] for at in places],
            scorer=Levenshtein.distance,
            score_cutoff=max(self._edits, default=0),
            limit=None,
        )
        neighbours = [(places[at], int(edits)) for _, edits, at in matches]
        return [(at, edits) for at, edits in neighbours if edits <= self._edits[at]]

    def _hash_pieces(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        count = sum(most + 1 for most in self._edits)
        hashes, numbers = np.empty(count, np.int64), np.empty(count, np.int32)
        end = 0
        for at, (text, most) in enumerate(zip(self._texts, self._edits, strict=True)):
            shape = len(text), most
            for number, (start, stop) in enumerate(_cut(*shape)):
                hashes[end], numbers[end] = hash((shape, number, text[start:stop])), at
                end += 1
        return hashes, numbers

    def _hash_near(self, text: str) -> Iterator[int]:
        """Return the hashes of all pieces that a similar text may share with a text."""
        for shape in self._shapes:
            length, most = shape
            if abs(length - len(text)) > most:
                continue
            for number, (start, stop) in enumerate(_cut(*shape)):
                for shift in range(max(-most, -start), min(most, len(text) - stop) + 1):
                    yield hash((shape, number, text[start + shift : stop + shift]))


@cache
def _cut(length: int, edits: int) -> tuple[tuple[int, int], ...]:
    """Return the starts and ends of the pieces. The last one is longer: it has the region."""
    ends = [round(length * number / (edits + 2)) for number in range(edits + 1)]
    return tuple(pairwise([*ends, length]))
