"""Writes the parts of a page that consist of figures.

A part is the text between `<!-- figures: NAME -->` and `<!-- end of figures -->`. Nothing else in a
page is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.errors import DataError

PART = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)


def rewrite(page: str, writers: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with new text in each of its parts.

    Args:
        page: The text of the page.
        writers: By name, the function that returns the text of a part.

    Raises:
        DataError: The page has no part, or a part without a writer.
    """
    names = [name for _, name, _, _ in PART.findall(page)]
    unknown = [name for name in names if name not in writers]
    if not names or unknown:
        got = unknown[0] if unknown else "none"
        raise DataError(f"page: wanted parts {', '.join(writers)}, got {got}")
    return PART.sub(lambda part: f"{part[1]}\n{writers[part[2]]()}\n{part[4]}", page)


def write_part(page: Path, name: str, text: str) -> None:
    """Write one part of a page; its other parts stay as they are.

    Raises:
        DataError: The page has no such part, or cannot be read or written.
    """
    try:
        before = page.read_text(encoding="utf-8")
        names = [part[2] for part in PART.finditer(before)]
        if name not in names:
            raise DataError(f"{page}: wanted the part {name}, got {', '.join(names) or 'none'}")
        written = PART.sub(
            lambda part: f"{part[1]}\n{text}\n{part[4]}" if part[2] == name else part[0], before
        )
        page.write_text(written, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{page}: {error.strerror}") from error
