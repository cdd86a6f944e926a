"""What the page says, in each language it knows, and which of them a reader gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.toml_files import read_table

LANGUAGES = ("en", "ru")
"""The first is for whoever asks for none of them."""
MOST_RANGES = 20
"""Of an Accept-Language header that are looked at."""


@dataclass(frozen=True)
class Texts:
    """The page's sentences in one language.

    Attributes:
        language: As HTML names it.
        page: What the HTML says.
        script: What the script says; a `{name}` in it is filled in there.
        problems: What the page says of a call without an answer, by the reason of the problem.
        stages: Names of what a picture's time goes to.
    """

    language: str
    page: Mapping[str, str]
    script: Mapping[str, str]
    problems: Mapping[str, str]
    stages: Mapping[str, str]


def read_texts() -> dict[str, Texts]:
    """Return the texts by language.

    Raises:
        SettingsError: A file does not have what it should.
    """
    folder = Path(__file__).parent
    return {name: read_table(Texts, folder / f"{name}.toml") for name in LANGUAGES}


def choose_language(asked: str | None, accepted: str) -> str:
    """Return the language of a reader.

    Args:
        asked: By a link; None for none. One that is not known is passed over.
        accepted: The header Accept-Language, "" for none.

    Source: RFC 9110, section 12.5.4; RFC 4647, section 3.3.1 (`ru-RU` is served by `ru`).
    """
    if asked in LANGUAGES:
        return asked
    best = max(_known_ranges(accepted), key=lambda one: one[1], default=(LANGUAGES[0], 0.0))
    return best[0]


def _known_ranges(accepted: str) -> Iterator[tuple[str, float]]:
    """Give each language of a header that there is, and how much it is wanted, in (0, 1]."""
    for one in accepted.split(",")[:MOST_RANGES]:
        tag, _, parameter = one.partition(";")
        language = tag.strip().lower().partition("-")[0]
        weight = _weight_of(parameter)
        if language in LANGUAGES and 0 < weight <= 1:
            yield language, weight


def _weight_of(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
