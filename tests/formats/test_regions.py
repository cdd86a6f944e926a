"""Regions of plates, their letters, and the distance of two texts."""

import pytest

from orchestrator.formats.edit_distance import edit_costs, edit_distance
from orchestrator.formats.plate_formats import Formats, PlateFormat, Region, russian
from orchestrator.formats.regions import known_region, region_with
from orchestrator.formats.transliteration import to_cyrillic, to_latin
from orchestrator.plates import PlateRegion, native_text


@pytest.mark.parametrize(
    ("text", "format_name", "region"),
    [
        pytest.param("A999CB21", "ru_car_square", ("21", "Chuvashia"), id="two lines"),
        pytest.param("AB771234", "ru_offroad", ("77", "Moscow"), id="code in the middle"),
        pytest.param(
            "004CD177", "ru_diplomatic_head", ("77", "Moscow"), id="letters by themselves"
        ),
        pytest.param("123ABC02", "kz_car", ("02", "Almaty"), id="another country"),
    ],
)
def test_a_region_is_known_by_text_and_format(text, format_name, region) -> None:
    assert known_region(text, format_name) == PlateRegion(*region)


@pytest.mark.parametrize(
    ("text", "format_name"),
    [
        pytest.param("A001AA00", "ru_car", id="no such code"),
        pytest.param("3425EE43", "ru_military", id="a format without region"),
        pytest.param("A001AA77", "", id="no format"),
        pytest.param("A001AA77", "at_home", id="a country that is not known"),
        pytest.param("", "ru_car", id="no text"),
        pytest.param("A001AA77", "ru_taxi", id="another format"),
    ],
)
def test_where_nothing_is_known_there_is_no_region(text: str, format_name: str) -> None:
    assert known_region(text, format_name) is None


def test_a_country_of_ones_own_tells_its_regions() -> None:
    mine = Formats("01A", (PlateFormat("mine", ("LRD",)),), (Region("here", ("1",)),))
    assert region_with(mine, mine.code_of("A10")) == PlateRegion("1", "here")
    assert region_with(mine, mine.code_of("A01")) is None
    assert region_with(russian(), "77") == PlateRegion("77", "Moscow")


ALL = "ABEKMHOPCTYX"


def test_cyrillic_letters_become_the_latin_ones_again() -> None:
    assert to_latin(to_cyrillic(ALL).lower()) == ALL
    assert not set(to_cyrillic(ALL)) & set(ALL)


@pytest.mark.parametrize("name", ["ru_car", "ru_taxi", "ru_export", "ru_military_square"])
def test_the_letters_of_russian_plates_are_cyrillic(name: str) -> None:
    assert native_text("A123BC77", name) == "\u0410123\u0412\u042177"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("", "", id="nothing read"),
        pytest.param("A123BC77", "", id="no format"),
        pytest.param("", "ru_car", id="no text"),
        pytest.param("004CD177", "ru_diplomatic_head", id="CD"),
        pytest.param("004T00177", "ru_diplomatic", id="T of diplomats"),
        pytest.param("AB123C", "xx_car", id="another country"),
    ],
)
def test_other_plates_have_no_letters_but_latin_ones(text: str, name: str) -> None:
    assert native_text(text, name) is None


@pytest.mark.parametrize(
    ("source", "target", "edits"),
    [
        pytest.param("", "", 0, id="nothing"),
        pytest.param("A1", "", 2, id="all left out"),
        pytest.param("", "A1", 2, id="all added"),
        pytest.param("A001AA77", "A001AA777", 1, id="one added"),
        pytest.param("A001AA777", "A01AA777", 1, id="one left out"),
        pytest.param("P090HM102", "B090MH102", 3, id="three replaced"),
        pytest.param("12345", "23451", 2, id="moved round"),
    ],
)
def test_the_fewest_edits_are_counted_both_ways(source: str, target: str, edits: int) -> None:
    assert edit_distance(source, target) == edit_distance(target, source) == edits


def test_costs_are_those_of_all_prefixes() -> None:
    assert edit_costs("AB", "BA1") == [[0, 1, 2, 3], [1, 1, 1, 2], [2, 1, 2, 2]]
