"""Patterns of texts, and the pieces of them that a trigram index can find.

`^` and `$` stand for the start and the end of a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.errors import ParameterError
from plate_cameras.plate_texts import strip_text
from plate_cameras.store.finding.pass_query import PassQuery

HIGHEST = "\U0010ffff"
"""A character that sorts after those of all texts."""
START, END = "^", "$"
WILDCARDS = "*?"
GRAM = 3
"""Shortest piece that a trigram index finds."""
MAX_EDITS = 2
MAX_CHARACTERS = 32
MIN_WHOLE = 8
"""Shortest text that is a whole one. A shorter one without wildcards and edits is a part."""
QUOTED = re.compile(r'\s*"(.*)"\s*')
"""A text that is a whole one, however short it is."""


def clean_text(text: str, wildcards: str = "") -> str:
    """Return a searched text as `strip_text` does.

    Raises:
        ParameterError: It has other characters than letters, digits and the allowed wildcards.
    """
    plain_text = strip_text(text)
    is_allowed = all(char.isalnum() or char in wildcards for char in plain_text)
    if len(plain_text) > MAX_CHARACTERS or not is_allowed:
        also = " ".join(("letters and digits", *wildcards))
        raise ParameterError(f"text: wanted at most {MAX_CHARACTERS} {also}, got {text!r}")
    return plain_text


def check_edits(text: str, edits: int) -> None:
    """Check that a text is long enough for a search with edits.

    Raises:
        ParameterError: Almost every text would match.
    """
    if not 0 <= edits <= MAX_EDITS:
        raise ParameterError(f"edits: wanted 0 to {MAX_EDITS}, got {edits}")
    if not edits:
        return
    if any(char in text for char in WILDCARDS):
        raise ParameterError(f"edits: wanted a text without {WILDCARDS}, got {text!r}")
    least = GRAM * (edits + 1) - 2
    if len(text) < least:
        raise ParameterError(
            f"edits: wanted {least} characters or more for {edits} edits, got {text!r}"
        )


def to_like(pattern: str) -> str:
    """Return a pattern for SQL's LIKE."""
    return pattern.replace("*", "%").replace("?", "_")


def prefix_of(pattern: str) -> str:
    """Return the characters before the first wildcard."""
    return re.split(r"[*?]", pattern, maxsplit=1)[0]


def find_runs(pattern: str) -> list[str]:
    """Return the runs of a pattern between `^` and `$` that a trigram index finds."""
    runs = re.split(r"[*?]", f"{START}{pattern}{END}")
    return [run for run in runs if len(run) >= GRAM]


def find_short_runs(pattern: str) -> list[str]:
    """Return the runs of a pattern that are too short for a trigram index, the longest first."""
    runs = {run for run in re.split(r"[*?]", pattern) if 0 < len(run) < GRAM}
    return sorted(runs, key=lambda run: (-len(run), run))


SHORT = 3
"""Pieces that have at most so many characters are probably frequent."""


@dataclass(frozen=True)
class TextCondition:
    """The condition on the text of a pass.

    Attributes:
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
        quotation = QUOTED.fullmatch(query.text)
        pattern = clean_text(quotation[1] if quotation else query.text, WILDCARDS) or "*"
        is_part = len(pattern) < MIN_WHOLE and not quotation and not query.edits
        if is_part and not set(WILDCARDS) & {*pattern}:
            pattern = f"*{pattern}*"
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
