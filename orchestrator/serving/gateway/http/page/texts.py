"""The page's texts in each language, and the choice of a reader's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path

from orchestrator.host.toml_files import read_table

LANGUAGES = ("en", "ru")
"""Languages of the page. The first is the default."""
MAX_RANGES = 20
"""Most language ranges of an Accept-Language header that are read."""


@dataclass(frozen=True)
class Texts:
    """The page's sentences in one language.

    Attributes:
        language: Language code, as in HTML.
        page: Texts of the HTML.
        script: Texts of the script. The script replaces each `{name}` in them.
        problems: Texts about failed calls, by the reason of the problem.
        details: What problems say in detail, by the service's English sentences, in which `{name}`
            stands for a value.
        docs: Texts of the API's documentation, by the English ones.
        stages: Names of the stages of processing.
        formats: The kinds of vehicles with such a plate, by the name of the format.
        regions: Names of regions, by their English names. Others keep those.
    """

    language: str
    page: Mapping[str, str]
    script: Mapping[str, str]
    problems: Mapping[str, str]
    details: Mapping[str, str]
    docs: Mapping[str, str]
    stages: Mapping[str, str]
    formats: Mapping[str, str]
    regions: Mapping[str, str]


@cache
def read_texts() -> dict[str, Texts]:
    """Return the texts by language.

    Raises:
        SettingsError: A text in a file is missing or wrong.
    """
    folder = Path(__file__).parent
    return {name: read_table(Texts, folder / f"{name}.toml") for name in LANGUAGES}


def choose_language(preference: str | None, accept_language: str) -> str:
    """Return the language of a reader.

    Args:
        preference: Language that the reader has chosen; None for none. An unknown one is ignored.
        accept_language: The header Accept-Language, "" for none.

    Source: RFC 9110, section 12.5.4; RFC 4647, section 3.3.1 (`ru-RU` is served by `ru`).
    """
    if preference in LANGUAGES:
        return preference
    ranges = _known_ranges(accept_language)
    return max(ranges, key=itemgetter(1), default=(LANGUAGES[0], 0.0))[0]


def _known_ranges(accept_language: str) -> Iterator[tuple[str, float]]:
    """Yield each known language of a header, with its weight in (0, 1]."""
    for language_range in accept_language.split(",")[:MAX_RANGES]:
        tag, _, parameter = language_range.partition(";")
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
