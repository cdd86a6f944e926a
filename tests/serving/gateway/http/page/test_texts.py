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
        pytest.param(None, "", "en", id="nothing"),
        pytest.param(None, "ru", "ru", id="accepted"),
        pytest.param(None, "ru-RU,ru;q=0.9,en;q=0.8", "ru", id="a browser's"),
        pytest.param(None, "en-GB,ru;q=0.5", "en", id="less wanted"),
        pytest.param(None, "de, ru;q=0.3", "ru", id="the one there is"),
        pytest.param(None, "ru;q=0, de", "en", id="not wanted"),
        pytest.param(None, "ru;q=much", "en", id="no number"),
        pytest.param(None, "ru;q=nan", "en", id="not a number"),
        pytest.param("ru", "en", "ru", id="asked"),
        pytest.param("../ru", "en", "en", id="asked for none there is"),
    ],
)
def test_a_reader_gets_a_language(asked: str | None, accepted: str, language: str) -> None:
    assert choose_language(asked, accepted) == language


def test_each_file_names_its_language() -> None:
    assert {name: texts.language for name, texts in read_texts().items()} == {
        name: name for name in LANGUAGES
    }


def test_languages_say_the_same_things() -> None:
    assert holes(ENGLISH) == holes(RUSSIAN)


def test_russian_is_in_cyrillic() -> None:
    assert all(re.search(r"[\u0430-\u044f]", text) for text in RUSSIAN.problems.values())


@pytest.mark.parametrize("reason", [*KINDS, LEAVING.reason])
def test_every_problem_has_the_page_s_words(reason: str) -> None:
    assert ENGLISH.problems[reason]
    assert RUSSIAN.problems[reason]


def test_every_format_has_words() -> None:
    names = {one.name for formats in FORMATS for one in formats.format}
    assert {*ENGLISH.formats} == {*RUSSIAN.formats} == names


def test_every_region_has_a_russian_name() -> None:
    names = {one.name for formats in FORMATS for one in formats.region}
    assert {*RUSSIAN.regions} == names
    assert all(re.search(r"[\u0430-\u044f]", text) for text in RUSSIAN.regions.values())
