import re

import pytest

from orchestrator.formats.plate_formats import COUNTRIES, read_formats
from orchestrator.serving.gateway.errors import LEAVING
from orchestrator.serving.gateway.http.page.texts import (
    LANGUAGES,
    Texts,
    choose_language,
    read_texts,
)
from orchestrator.serving.gateway.http.problem_details import KINDS

ENGLISH, RUSSIAN = (read_texts()[language] for language in ("en", "ru"))
FORMATS = [read_formats(file) for file in COUNTRIES.glob("*/formats.toml")]
HOLE = re.compile(r"\{\w+\}|\$\w+")


def holes(texts: Texts) -> dict[str, list[str]]:
    """Return the placeholders of each sentence."""
    sentences = {**texts.page, **texts.script, **texts.problems}
    return {name: sorted(HOLE.findall(text)) for name, text in sentences.items()}


@pytest.mark.parametrize(
    ("asked", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "ru", "ru"),
        (None, "ru-RU,ru;q=0.9,en;q=0.8", "ru"),
        (None, "en-GB,ru;q=0.5", "en"),
        (None, "de, ru;q=0.3", "ru"),
        (None, "ru;q=0, de", "en"),
        (None, "ru;q=much", "en"),
        (None, "ru;q=nan", "en"),
        ("ru", "en", "ru"),
        ("../ru", "en", "en"),
    ],
)
def test_a_reader_gets_a_language(asked: str | None, accepted: str, language: str) -> None:
    assert choose_language(asked, accepted) == language


def test_languages_say_the_same_things() -> None:
    assert [(name, texts.language) for name, texts in read_texts().items()] == [
        (name, name) for name in LANGUAGES
    ]
    assert holes(ENGLISH) == holes(RUSSIAN)
    cyrillic = [*RUSSIAN.problems.values(), *RUSSIAN.regions.values()]
    assert [text for text in cyrillic if not re.search(r"[\u0430-\u044f]", text)] == []


def test_every_problem_format_and_region_has_the_page_s_words() -> None:
    problems = {*KINDS, LEAVING.reason}
    assert all(texts.problems[reason] for texts in (ENGLISH, RUSSIAN) for reason in problems)
    names = {one.name for formats in FORMATS for one in formats.format}
    assert {*ENGLISH.formats} == {*RUSSIAN.formats} == names
    assert {*RUSSIAN.regions} == {one.name for formats in FORMATS for one in formats.region}
