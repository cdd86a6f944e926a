"""Plates of Russia's neighbours: every layout with its sign, and what is no such plate."""

import numpy as np
import pytest

from orchestrator.formats.plate_formats import COUNTRIES, RUSSIA, read_formats
from orchestrator.host.toml_files import read_table
from workshop.rendering.country import Country, country_of
from workshop.rendering.scenes import draw_pictures
from workshop.rendering.texts import fill
from workshop.training.reader.reader_recipe import SHIPPED, ReaderRecipe


@pytest.fixture(scope="module")
def neighbours() -> Country:
    return country_of(COUNTRIES / "neighbours" / "formats.toml")


def test_russian_plates_are_there_as_they_are(neighbours: Country) -> None:
    russia = read_formats(RUSSIA)
    assert neighbours.formats.format[: len(russia.format)] == russia.format
    assert neighbours.formats.alphabet.startswith(russia.alphabet)
    assert neighbours.formats.regions == russia.regions


def test_every_neighbour_has_a_sign_and_every_plate_of_one_bears_it(neighbours: Country) -> None:
    formats = neighbours.formats
    signs = {country.code: country.sign for country in formats.country}
    foreign = [form for form in formats.format if not form.name.startswith("ru_")]
    assert {form.name[:2] for form in foreign} == set(signs)
    for form in foreign:
        for layout in form.layouts:
            text = fill(np.random.default_rng(0), layout, formats)
            assert text.count(signs[form.name[:2]]) == 1
            assert formats.format_of(text) == form.name
            assert formats.shown(text).isascii()


def test_a_plate_is_drawn_with_the_colours_of_its_flag(neighbours: Country) -> None:
    plate = neighbours.plate_of("ⒼAB123CD").picture.astype(int)
    blue, _, red = plate[84:, 9:60].reshape(-1, 3).T
    assert (blue - red > 100).mean() > 0.3  # the band
    assert np.median(plate[:, 100:]) > 200


@pytest.mark.parametrize(
    ("text", "format_name"),
    [
        pytest.param("AB123CD", "ge_car", id="without its sign"),
        pytest.param("ⒼAB12CD", "ge_car", id="a digit too few"),
        pytest.param("ⒼAB123CD", "fr_car", id="another country"),
    ],
)
def test_other_plates_are_refused(neighbours: Country, text: str, format_name: str) -> None:
    with pytest.raises(ValueError, match=f"{format_name} of a neighbour has"):
        neighbours.draw(None, format_name, text=text, glyphs=None)


def test_labels_of_pictures_are_without_signs(neighbours: Country) -> None:
    (picture,) = draw_pictures(Country(neighbours.formats, neighbours.draw, neighbours.file), 1, 3)
    assert picture.text.isascii()


def test_its_recipe_can_be_read() -> None:
    assert read_table(ReaderRecipe, SHIPPED / "neighbours.toml").start is not None
