"""Measures the distance between a text that was read and the true text.

Source: Levenshtein 1966 (edit distance); the character error rate is the one of speech and
handwriting recognition: edits over true characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.formats.edit_distance import edit_costs, edit_distance
from workshop.reporting.tables import ratio

Pair = tuple[str, str]
"""A wanted text and a read text, or one character of each."""


@dataclass(frozen=True)
class Confusion:
    """A character that was read as another one, with a count; `""` when one of them is missing."""

    wanted: str
    read: str
    count: int


@dataclass(frozen=True)
class LetterCount:
    """The number of plates whose letter at one place was read as one character.

    Attributes:
        place: The place of the letter in the true text; the first is 1.
        letter: The letter.
        read: The character that was read; `""` if the letter was left out.
        count: The number of plates.
        sure: The number of those whose text has a score of at least 0.9.
    """

    place: int
    letter: str
    read: str
    count: int
    sure: int


def align(wanted: str, read: str) -> list[Pair]:
    """Pair the characters of two texts with the fewest edits.

    Returns:
        Character pairs in order; `""` is on one side if a character was left out or added. If
        several alignments are equally good, the one with replacements is chosen.
    """
    costs = edit_costs(wanted, read)
    pairs: list[Pair] = []
    i, j = len(wanted), len(read)
    while i or j:
        if i and j and costs[i][j] == costs[i - 1][j - 1] + (wanted[i - 1] != read[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((wanted[i], read[j]))
        elif i and costs[i][j] == costs[i - 1][j] + 1:
            i -= 1
            pairs.append((wanted[i], ""))
        else:
            j -= 1
            pairs.append(("", read[j]))
    return pairs[::-1]


def character_error_rate(pairs: Iterable[Pair]) -> float | None:
    """Return edits over wanted characters. It may be above 1, and is None without characters."""
    texts = list(pairs)
    edits = sum(edit_distance(wanted, read) for wanted, read in texts)
    return ratio(edits, sum(len(wanted) for wanted, _ in texts))


def count_confusions(pairs: Iterable[Pair]) -> list[Confusion]:
    """Count the differing characters of aligned texts, most frequent first."""
    differing = Counter(
        (wanted, read) for texts in pairs for wanted, read in align(*texts) if wanted != read
    )
    ranked = sorted(differing.items(), key=lambda item: (-item[1], item[0]))
    return [Confusion(wanted, read, count) for (wanted, read), count in ranked]


def count_letters(pairs: Iterable[Pair], sure: Iterable[bool]) -> tuple[LetterCount, ...]:
    """Count what each letter of the wanted texts was read as, right or wrong.

    Args:
        pairs: The wanted and the read text of each plate.
        sure: True for each plate whose score is at least `SURE`.
    """
    counts, sure_counts = Counter[tuple[int, str, str]](), Counter[tuple[int, str, str]]()
    for texts, is_sure in zip(pairs, sure, strict=True):
        characters = [pair for pair in align(*texts) if pair[0]]
        letters = [(place, *pair) for place, pair in enumerate(characters, 1) if pair[0].isalpha()]
        counts.update(letters)
        sure_counts.update(letters if is_sure else ())
    return tuple(LetterCount(*key, counts[key], sure_counts[key]) for key in sorted(counts))
