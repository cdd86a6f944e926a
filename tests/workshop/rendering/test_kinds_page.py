"""Agreement of docs/kinds.md with the formats, for each kind of plate."""

import re
from pathlib import Path

import pytest

from orchestrator.formats.plate_formats import russian

PAGE = (Path(__file__).parents[3] / "docs" / "kinds.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.split("\n## ")[0].splitlines()  # later tables tell how well each is read
    if line.startswith("|") and "`ru_" in line
]
QUOTED = re.compile(r"`(\w+)`")
NOT_TOLD = {"ru_tractor", "ru_military_tractor", "ru_military_motorcycle"}
"""Formats whose texts other formats have before them."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0] or "American")
def test_an_example_has_a_format_of_its_row(row: list[str]) -> None:
    lines = 2 if row[5] == "in two lines" else 1
    told = {russian().format_of(text, lines) for text in QUOTED.findall(row[3])}
    assert told
    assert told <= {*QUOTED.findall(row[4])}


def test_every_format_is_told() -> None:
    formats = {one.name for one in russian().format}
    assert formats - {name for row in ROWS for name in QUOTED.findall(row[4])} == NOT_TOLD
    assert {name for name in NOT_TOLD if f"`{name}`" in PAGE} == NOT_TOLD
