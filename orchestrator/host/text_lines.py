"""Texts of strangers, for logs and messages: one short line of printable characters."""

from __future__ import annotations

MAX_CHARACTERS = 300
"""Largest number of characters of a reason: it stands in logs, in the database and in metrics."""


def to_line(text: str) -> str:
    """Return a text as one line of printable characters, cut where it is too long."""
    printable = "".join(
        letter if letter.isprintable() else " " for letter in text[: 2 * MAX_CHARACTERS]
    )
    line = " ".join(printable.split())
    return line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 3] + "..."
