"""Kazakh plates: every layout, one line and two, and what is no Kazakh plate."""

import numpy as np
import pytest

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import COUNTRIES
from orchestrator.host.toml_files import read_table
from orchestrator.networks.weights import WEIGHTS
from workshop.rendering.country import Country, country_of
from workshop.rendering.glyphs import GLYPHS
from workshop.training.reader.reader_recipe import SHIPPED, ReaderRecipe


@pytest.fixture(scope="module")
def kazakhstan() -> Country:
    return country_of(COUNTRIES / "kazakhstan" / "formats.toml")


@pytest.mark.parametrize(
    ("text", "format_name", "size_hw", "lines"),
    [
        pytest.param("123ABC02", "kz_car", (168, 780), 1, id="a car"),
        pytest.param("123AB02", "kz_company", (168, 780), 1, id="a company's car"),
        pytest.param("H123402", "kz_foreign", (168, 780), 1, id="a foreign company's car"),
        pytest.param("123/ABC02", "kz_car_square", (303, 420), 2, id="a square one"),
        pytest.param("123/AB02", "kz_company_square", (303, 420), 2, id="a company's"),
        pytest.param("A123BCD", "kz_1993", (168, 780), 1, id="an older one"),
        pytest.param("A123BC", "kz_1993", (168, 780), 1, id="a company's older one"),
        pytest.param("A123/BCD", "kz_1993_square", (303, 420), 2, id="an older square one"),
    ],
)
def test_kazakh_plates(
    kazakhstan: Country, text: str, format_name: str, size_hw: tuple[int, int], lines: int
) -> None:
    plate = kazakhstan.plate_of(text)
    assert (plate.format, plate.lines) == (format_name, lines)
    assert plate.picture.shape[:2] == size_hw
    assert plate.text == text.replace("/", "")


def test_foreigners_have_yellow_plates(kazakhstan: Country) -> None:
    blue, green, red = np.median(kazakhstan.plate_of("F123402").picture, axis=(0, 1))
    assert blue < 60 < 180 < green < red


def test_every_character_of_the_alphabet_has_a_glyph(kazakhstan: Country) -> None:
    assert set(kazakhstan.formats.alphabet) == set(GLYPHS)


@pytest.mark.parametrize(
    ("text", "format_name"),
    [
        pytest.param("A123BC77", "ru_car", id="another country's format"),
        pytest.param("1234AB02", "kz_car", id="another number of digits"),
        pytest.param("123/ABC02", "kz_car", id="two lines"),
    ],
)
def test_other_plates_are_refused(kazakhstan: Country, text: str, format_name: str) -> None:
    with pytest.raises(ValueError, match="a Kazakh plate"):
        kazakhstan.draw(None, format_name, text=text, glyphs=None)


def test_its_recipe_starts_from_our_weights_and_renders_everything() -> None:
    recipe = read_table(ReaderRecipe, SHIPPED / "kazakhstan.toml")
    assert recipe.start is not None
    assert recipe.start.resolve() == WEIGHTS
    assert recipe.data.crops is None
    assert recipe.training.real_share == 0


def test_an_alphabet_without_glyphs_is_refused(kazakhstan: Country, tmp_path) -> None:
    file = tmp_path / "formats.toml"
    made_up = '[[format]]\nname = "kz_1993"\nlayouts = ["LDDDLL"]\n'
    file.write_text(
        f'alphabet = "0123456789Я"\nrenderer = "workshop.rendering.kazakhstan:draw"\n{made_up}'
    )
    with pytest.raises(SettingsError, match=r"layout LDDDLL of kz_1993: .* got: KeyError: 'Я'"):
        country_of(file)
