"""The details of problems that readers cause: the Russian catalogue has the service's sentences."""

import re
from collections.abc import Callable

import pytest

from orchestrator.errors import PlateError
from orchestrator.imaging.headers import check_file, check_pixels
from plate_cameras.control_room.access.passwords import check_password
from plate_cameras.control_room.room_texts import read_room_texts
from plate_cameras.store.finding.text_patterns import check_edits, clean_text
from plate_cameras.store.lists.file_contents import decode
from plate_cameras.store.lists.list_file import parse_csv
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.lists.plate_entries import check_entries
from plate_cameras.store.people.people import Person

RUSSIAN = read_room_texts()["ru"]
DETAILS = {**RUSSIAN.shared_texts.details, **RUSSIAN.details}
HOLE = re.compile(r"{\w+}")
GIF = b"GIF89a" + bytes(40)


def knows(detail: str) -> bool:
    """Tell whether the catalogue has a sentence of a detail, as `sayDetail` of the page does."""
    patterns = ("(.+?)".join(map(re.escape, HOLE.split(sentence))) for sentence in DETAILS)
    return any(re.search(f"(?:^|: ){pattern}(?:$|; )", detail, re.DOTALL) for pattern in patterns)


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(lambda: check_file(GIF, 100), id="no picture"),
        pytest.param(lambda: check_pixels(20, 20, 100), id="large picture"),
        pytest.param(lambda: check_entries([ListEntry("")]), id="no plate"),
        pytest.param(lambda: check_entries([ListEntry("AO12BC77")]), id="other characters"),
        pytest.param(lambda: check_entries([ListEntry("A123BC999")]), id="region"),
        pytest.param(lambda: check_entries([ListEntry("A123BC77", "a" * 3000)]), id="note"),
        pytest.param(lambda: check_entries([ListEntry("A123BC77", edits=7)]), id="edits"),
        pytest.param(lambda: clean_text("A1_23"), id="searched text"),
        pytest.param(lambda: clean_text("A1_*", "*?"), id="with wildcards"),
        pytest.param(lambda: check_edits("A1*", 1), id="edits and wildcards"),
        pytest.param(lambda: check_edits("A", 2), id="short text with edits"),
        pytest.param(lambda: parse_csv("text,valid_until\nA123BC77,soon\n"), id="date"),
        pytest.param(lambda: parse_csv("text,edits\nA123BC77,many\n"), id="edits of a file"),
        pytest.param(lambda: parse_csv("plate,owner\nA123BC77,me\n"), id="columns"),
        pytest.param(lambda: parse_csv("text\nA123BC77,me\n"), id="cells"),
        pytest.param(lambda: decode(b"\xd0\xcf\x11\xe0"), id="old workbook"),
        pytest.param(lambda: decode(b"PK\x03\x04"), id="damaged workbook"),
        pytest.param(lambda: decode(b"A\0B"), id="no text"),
        pytest.param(lambda: Person("Anna", "viewer"), id="name of a person"),
        pytest.param(lambda: check_password("short", "anna"), id="short password"),
        pytest.param(lambda: check_password("anna and more", "anna"), id="name in a password"),
    ],
)
def test_a_problem_is_told_in_russian(fail: Callable[[], object]) -> None:
    with pytest.raises(PlateError) as caught:
        fail()
    assert knows(str(caught.value))


def test_russian_details_have_no_other_values() -> None:
    assert not [
        translation
        for sentence, translation in DETAILS.items()
        if {*HOLE.findall(translation)} - {*HOLE.findall(sentence)}
    ]
