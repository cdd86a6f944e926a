"""Texts from outside: their encoding, and their form for logs and messages."""

from __future__ import annotations

import codecs

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by the byte order marks that Windows programs write at the start of a file."""

MAX_CHARACTERS = 300
"""Largest number of characters of a reason: it stands in logs, in the database and in metrics."""


def decode(content: bytes, errors: str = "strict") -> str:
    """Return the text of a file by its byte order mark; without one it is UTF-8.

    Raises:
        UnicodeDecodeError: It has another encoding.
    """
    encoding = next((name for mark, name in MARKS.items() if content.startswith(mark)), "utf-8")
    return content.decode(encoding, errors)


def to_line(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Return a text as one line of printable characters, cut where it is too long."""
    printable = "".join(
        letter if letter.isprintable() else " " for letter in text[: 2 * max_characters]
    )
    line = " ".join(printable.split())
    return line if len(line) <= max_characters else line[: max_characters - 3] + "..."
