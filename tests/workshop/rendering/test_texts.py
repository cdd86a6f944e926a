"""Random texts: what layouts, alphabet and regions allow, and all of it."""

import numpy as np
import pytest

from orchestrator.formats.plate_formats import (
    CountrySign,
    Formats,
    PlateFormat,
    Region,
    russian,
)
from workshop.rendering.texts import double_end, fill, layout_of, plain, random_text

SMALL = Formats(
    "01AB",
    (PlateFormat("square", ("DD/LRR",), share=1.0), PlateFormat("never", ("LL",), share=0.0)),
    (Region("North", ("01",)), Region("South", ("10", "110"))),
)


def texts_of(formats: Formats, name: str | None = None) -> list[str]:
    rng = np.random.default_rng(3)
    return [random_text(rng, formats, name)[0] for _ in range(200)]


@pytest.mark.parametrize("name", [form.name for form in russian().format])
def test_a_text_has_the_format_that_was_asked_for(name: str) -> None:
    (plate_format,) = (form for form in russian().format if form.name == name)
    layouts = {layout_of(text, plate_format, russian()) for text in texts_of(russian(), name)}
    assert layouts == set(plate_format.layouts)


def test_every_character_and_region_of_the_layout_is_drawn() -> None:
    texts = texts_of(SMALL)
    assert {text[:3] for text in texts} == {"00/", "01/", "10/", "11/"}
    assert {text[3:] for text in texts} == {"A01", "A10", "B01", "B10"}


def test_a_format_without_share_is_drawn_only_when_asked_for() -> None:
    assert {random_text(np.random.default_rng(seed), SMALL)[1] for seed in range(40)} == {"square"}
    assert set(texts_of(SMALL, "never")) == {"AA", "AB", "BA", "BB"}


def test_digits_stand_for_regions_that_the_country_does_not_name() -> None:
    rng = np.random.default_rng(0)
    assert {fill(rng, "R", SMALL) for _ in range(40)} == {"0", "1"}
    assert {fill(rng, "RRR", SMALL) for _ in range(40)} == {"110"}


def test_russian_plates_bear_only_codes_of_the_file_and_soldiers_any() -> None:
    codes = {code for region in russian().region for code in region.codes}
    assert {text[6:] for text in texts_of(russian(), "ru_car")} <= codes
    assert {text[6:] for text in texts_of(russian(), "ru_military")} - codes


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        pytest.param("01/A10", "DD/LRR", id="lines as in the layout"),
        pytest.param("01A10", None, id="one line"),
        pytest.param("0/1A10", None, id="another break"),
        pytest.param("01/C10", None, id="a character outside the alphabet"),
        pytest.param("", None, id="empty"),
    ],
)
def test_the_layout_of_a_text(text: str, layout: str | None) -> None:
    assert layout_of(text, SMALL.format[0], SMALL) == layout


@pytest.mark.parametrize(
    ("text", "layout", "doubled"),
    [
        pytest.param("01Ⓚ23", "DDⓚDD", {"00Ⓚ23", "01Ⓚ22"}, id="both ends"),
        pytest.param("Ⓚ01AB", "ⓚDDLL", {"Ⓚ00AB", "Ⓚ01AA"}, id="signs are not counted"),
        pytest.param("A01", "LDD", {"A01", "A00"}, id="a letter and a digit stay different"),
        pytest.param("01/AB", "DD/LL", {"00/AB", "01/AA"}, id="two lines"),
        pytest.param("Ⓚ1", "ⓚD", {"Ⓚ1"}, id="a single character"),
    ],
)
def test_one_end_of_a_text_is_doubled(text: str, layout: str, doubled: set[str]) -> None:
    formats = Formats(
        "0123ABⓀ", (PlateFormat("kz_car", (layout,)),), country=(CountrySign("kz", "Ⓚ"),)
    )
    seeds = range(20)
    texts = {double_end(np.random.default_rng(seed), text, formats, "kz_car") for seed in seeds}
    assert texts == doubled


def test_a_plate_says_its_lines_one_after_the_other() -> None:
    assert plain("01/A10") == "01A10"
