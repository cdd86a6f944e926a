"""The edit distance between two texts.

Source: V. Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals",
1966; R. Wagner and M. Fischer, 1974.
"""

from __future__ import annotations


def edit_costs(source: str, target: str) -> list[list[int]]:
    """Return the edit distances between all prefixes, [len(source) + 1][len(target) + 1]."""
    costs = [list(range(len(target) + 1))]
    for i, char in enumerate(source, 1):
        row = [i]
        for j, target_char in enumerate(target, 1):
            row.append(min(costs[-1][j] + 1, row[-1] + 1, costs[-1][j - 1] + (char != target_char)))
        costs.append(row)
    return costs


def edit_distance(source: str, target: str) -> int:
    """Return how many characters must be replaced, left out or added: the Levenshtein distance."""
    return edit_costs(source, target)[-1][-1]
