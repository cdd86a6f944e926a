"""The condition of a search on the text of a pass."""

from __future__ import annotations

import re
from dataclasses import dataclass

from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.finding.text_patterns import (
    WILDCARDS,
    check_edits,
    clean_text,
    find_runs,
    find_short_runs,
    prefix_of,
)

SHORT = 3
"""Pieces that have at most so many characters are probably frequent."""


@dataclass(frozen=True)
class TextCondition:
    """The condition on the text of a pass.

    Attributes:
        pattern: The whole text, with wildcards.
        parts: Parts of the text.
        edits: Most edits between the text and `pattern`.
    """

    pattern: str
    parts: tuple[str, ...] = ()
    edits: int = 0

    @classmethod
    def of(cls, query: PassQuery) -> TextCondition | None:
        """Return the condition of a query, if it has one.

        Raises:
            ParameterError: The text cannot be searched.
        """
        pattern = clean_text(query.text, WILDCARDS) or "*"
        parts = tuple(filter(None, map(clean_text, query.parts)))
        check_edits(pattern, query.edits)
        return cls(pattern, parts, query.edits) if parts or pattern.strip("*") else None

    @property
    def is_exact(self) -> bool:
        """True if the text itself is known."""
        return not self.edits and not any(char in self.pattern for char in WILDCARDS)

    @property
    def prefix(self) -> str:
        return "" if self.edits else prefix_of(self.pattern)

    @property
    def is_short(self) -> bool:
        """True if all pieces are short."""
        pieces = (run for pattern in self._patterns for run in re.split(r"[*?]", pattern))
        return not self.edits and max(map(len, pieces)) <= SHORT

    @property
    def runs(self) -> list[str]:
        """Pieces that every such text has, if it needs no edits."""
        return [run for pattern in self._patterns for run in find_runs(pattern)]

    @property
    def short_runs(self) -> list[str]:
        """Pieces of one or two characters that every such text has, the longest first."""
        runs = {run for pattern in self._patterns for run in find_short_runs(pattern)}
        return sorted(runs, key=lambda run: (-len(run), run))

    @property
    def _patterns(self) -> tuple[str, ...]:
        return self.pattern, *(f"*{part}*" for part in self.parts)
