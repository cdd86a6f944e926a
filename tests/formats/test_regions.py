"""Regions of plates, from the country's formats or from the name of a format."""

import pytest

from orchestrator.formats.plate_formats import Formats, PlateFormat, Region, russian
from orchestrator.formats.regions import known_region, region_with
from orchestrator.plates import PlateRegion


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
