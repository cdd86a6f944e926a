"""How far a text that was read is from the true one.

Source: Levenshtein 1966 (edit distance); the character error rate is the one of speech and
handwriting recognition: edits over true characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.edits import edit_costs, edit_distance
from reporting.comparison import ratio

Pair = tuple[str, str]
"""What was wanted, what was read."""


@dataclass(frozen=True)
class Confusion:
    """A character that was read as another one, how often; `""` where there is none."""

    wanted: str
    read: str
    count: int


def align(wanted: str, read: str) -> list[Pair]:
    """Pair the characters of two texts with the fewest edits.

    Returns:
        Character pairs in order; `""` on one side where a character was left out or added.
        Where several alignments are as good, the one that replaces rather than leaves out.
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
    """Return edits over wanted characters; may pass 1; None without any characters."""
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
