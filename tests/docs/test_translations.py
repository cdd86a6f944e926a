"""The Russian pages have the parts, tables and commands of the English ones."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import CodeBlock, blocks_of
from tests.samples import PROJECT

HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
ROW = re.compile(r"^\|", re.MULTILINE)
COMMENT = re.compile(r"\s*# .*$", re.MULTILINE)
TYPED = re.compile(r"(make|docker|\.venv/bin/|plates|install|systemctl) ?")
CYRILLIC = re.compile("[\u0430-\u044f]")
NAMES = ["first-camera", "control-room", "gates", "kinds"]
PAIRS = [
    pytest.param(PROJECT / "README.md", PROJECT / "README.ru.md", id="README"),
    *(
        pytest.param(PROJECT / f"docs/{name}.md", PROJECT / f"docs/ru/{name}.md", id=name)
        for name in NAMES
    ),
]
EACH = pytest.mark.parametrize(("english", "russian"), PAIRS)


def headings_of(page: Path) -> list[tuple[str, str]]:
    """Return the levels and texts of a page's headings, without comments in code."""
    text = page.read_text(encoding="utf-8")
    for block in blocks_of(page):
        text = text.replace(block.text, "")
    return HEADING.findall(text)


def lines_of(block: CodeBlock) -> set[str]:
    return {line.strip() for line in COMMENT.sub("", block.text).splitlines() if line.strip()}


@EACH
def test_headings_of_both_languages_match(english: Path, russian: Path) -> None:
    first, second = headings_of(english), headings_of(russian)
    assert [level for level, _ in first] == [level for level, _ in second]
    assert [text for _, text in second if not CYRILLIC.search(text)] in ([], ["Plates"])


@EACH
def test_tables_of_both_languages_have_the_same_rows(english: Path, russian: Path) -> None:
    first, second = (
        len(ROW.findall(page.read_text(encoding="utf-8"))) for page in (english, russian)
    )
    assert first <= second <= first + 1


@EACH
def test_russian_pages_have_the_commands_of_the_english_ones(english: Path, russian: Path) -> None:
    """Examples for programs may stand in the English page alone."""
    english_lines = set[str]().union(*map(lines_of, blocks_of(english)))
    assert [line for block in blocks_of(russian) for line in lines_of(block) - english_lines] == []
    typed_lines = {
        line for block in blocks_of(english) for line in lines_of(block) if TYPED.match(line)
    }
    assert typed_lines - set[str]().union(*map(lines_of, blocks_of(russian))) == set()


def test_both_readmes_have_the_same_figures() -> None:
    english = (PROJECT / "README.md").read_text(encoding="utf-8")
    russian = (PROJECT / "README.ru.md").read_text(encoding="utf-8").replace(",", ".")
    figures = re.findall(r"\d+ of \d+|\d+\.\d+ %|About \d+|\d+ faults", english)
    numbers = [number for figure in figures for number in re.findall(r"[\d.]+", figure)]
    assert len(numbers) == 5
    assert [number for number in numbers if not re.search(rf"\b{number}\b", russian)] == []
