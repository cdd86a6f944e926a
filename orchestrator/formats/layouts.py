"""Layouts of plates, and the alphabet of their characters and signs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from orchestrator.errors import SettingsError

MAX_LENGTH = 9
"""Largest number of characters of a text: a row of the output `character_scores` has room for so
many."""
MAX_CHARACTERS = 126
"""Largest number of characters of an alphabet: the time of the beam search grows with it."""
KINDS = {"L": "letters", "A": "letters", "D": "digits", "R": "digits"}
BREAK = "/"
"""The character of a layout after which the second line of the plate begins."""


def flatten(layout: str) -> str:
    """Return a layout with its lines one after the other."""
    return layout.replace(BREAK, "")


def code_in(text: str, layout: str) -> str:
    """Return the region code of a text, given its one-line layout; `""` for none."""
    return "".join([text[at] for at in places_of_code(layout) if at < len(text)])


@lru_cache(maxsize=256)
def places_of_code(layout: str) -> tuple[int, ...]:
    """Return the places of the region code in a one-line layout."""
    return tuple(at for at, place in enumerate(layout) if place == "R")


def lines_of(layout: str) -> int:
    """Return the number of lines of a plate with this layout."""
    return layout.count(BREAK) + 1


def check_alphabet(alphabet: str) -> None:
    """Check that an alphabet has single characters, none of them with a meaning in layouts."""
    check_single("alphabet: wanted each character", alphabet)
    if any(char.isspace() or char == BREAK for char in alphabet):
        raise SettingsError(f"alphabet: wanted no spaces and no {BREAK}, got {alphabet!r}")
    if len(alphabet) > MAX_CHARACTERS:
        raise SettingsError(
            f"alphabet: wanted up to {MAX_CHARACTERS} characters, got {len(alphabet)}"
        )


def check_letters(letters: str, alphabet: str) -> None:
    """Check that letters are characters of the alphabet and no digits."""
    check_single("letters: wanted each character", letters)
    for char in letters:
        if char not in alphabet or char.isdigit():
            raise SettingsError(
                f"letters: wanted characters of the alphabet that are no digits, got {char!r}"
            )


def check_signs(codes: Sequence[str], signs: Sequence[str], alphabet: str) -> None:
    """Check the signs of countries: each is a letter of the alphabet with a lower case."""
    check_single("country: wanted each code", codes)
    if len(signs) < len(codes):
        raise SettingsError("country: wanted a sign for each country, got one twice")
    for sign in signs:
        if sign not in alphabet or not (len(sign) == 1 and sign.lower().islower()):
            raise SettingsError(
                f"country: wanted signs of the alphabet that have a lower case, got {sign!r}"
            )


def check_single(rule: str, values: Iterable[str]) -> None:
    """Check that no value comes twice; the error begins with the rule."""
    double = [value for value, count in Counter(values).items() if count > 1]
    if double:
        raise SettingsError(f"{rule} once, got {double[0]!r} more than once")
