"""Finds the line of a value in a TOML file, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

KeyPath = tuple[str | int, ...]
"""Keys and indexes of lists, from the outermost table to a value."""

NAME = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
NAMES = rf"{NAME}(?:\s*\.\s*{NAME})*"
HEADER = re.compile(rf"\s*(\[\[?)\s*({NAMES})\s*\]\]?\s*(?:#.*)?$")
KEY = re.compile(rf"\s*({NAMES})\s*=")
LONG_TEXT = re.compile(r'"""|\'\'\'')
MANY_DIGITS = re.compile(r"[0-9a-fA-F_]{4000}")


def find_line(content: str, path: Sequence[str | int]) -> int | None:
    """Return the line of a value, or else of the nearest table that has one; None for none.

    Args:
        content: A TOML file.
        path: Keys and indexes of lists, such as `("cameras", 1, "url")`.
    """
    lines: dict[KeyPath, int] = {}
    for place, line in _places(content):
        for size in range(1, len(place) + 1):
            lines.setdefault(place[:size], line)
    parts = tuple(path)
    return next(
        (lines[parts[:size]] for size in range(len(parts), 0, -1) if parts[:size] in lines), None
    )


def find_long_number(content: str) -> int | None:
    """Return the line of a number that Python does not read; None if there is none."""
    match = MANY_DIGITS.search(content)
    return content.count("\n", 0, match.start()) + 1 if match else None


def _places(content: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the path and the line of each table and each key that begins a line."""
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    in_text = False
    for number, line in enumerate(content.split("\n"), 1):
        if in_text:
            in_text = len(LONG_TEXT.findall(line)) % 2 == 0
            continue
        in_text = len(LONG_TEXT.findall(line)) % 2 == 1
        if header := HEADER.match(line):
            table = _resolve(_split(header[2]), counts, is_list=header[1] == "[[")
            yield table, number
        elif key := KEY.match(line):
            yield (*table, *_split(key[1])), number


def _resolve(names: Sequence[str], counts: dict[KeyPath, int], *, is_list: bool) -> KeyPath:
    """Return the path of a header: a list that it names stands for its last element."""
    path: KeyPath = ()
    for at, name in enumerate(names):
        path = (*path, name)
        if is_list and at == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _split(names: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(NAME, names)]
