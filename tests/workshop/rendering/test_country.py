"""Countries as folders: their renderers, and errors about invalid ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import RUSSIA
from workshop.rendering.country import country_of, russia
from workshop.rendering.russia_parts import LOOKS

FORMATS = """
alphabet = "0123456789AB"
renderer = "{renderer}"

[[format]]
name = "car"
layouts = ["{layout}"]

[[format]]
name = "forgotten"
layouts = ["LLLL"]
share = 0
"""
RENDERER = """
import numpy as np
from workshop.rendering.country import FlatPlate

def draw(rng, format_name, *, text, glyphs):
    return FlatPlate({returned})
"""
PLAIN = "np.zeros((40, 160, 3), np.uint8), text, format_name"


def write(
    folder: Path,
    returned: str = PLAIN,
    *,
    renderer: str = "renderer:draw",
    layout: str = "DDLL",
    code: str = RENDERER,
) -> Path:
    """A country's folder; returns its formats file."""
    folder.mkdir(exist_ok=True)
    (folder / "renderer.py").write_text(code.replace("{returned}", returned))
    file = folder / "formats.toml"
    file.write_text(FORMATS.format(renderer=renderer, layout=layout))
    return file


def test_a_country_draws_plates_of_its_formats_with_the_renderer_beside_them(
    tmp_path: Path,
) -> None:
    country = country_of(write(tmp_path))
    plate = country.random_plate(np.random.default_rng(0))
    assert plate.format == "car"
    assert plate.picture.shape == (40, 160, 3)
    assert country.formats.format_of(plate.text) == "car"


def test_some_texts_get_two_equal_characters_at_one_end(tmp_path: Path) -> None:
    country = replace(country_of(write(tmp_path)), doubled_share=1.0)
    texts = [country.random_plate(np.random.default_rng(seed)).text for seed in range(20)]
    assert all(text[0] == text[1] or text[2] == text[3] for text in texts)


def test_two_countries_in_one_process_keep_their_own_renderers(tmp_path: Path) -> None:
    dark = country_of(write(tmp_path / "dark"))
    light = country_of(write(tmp_path / "light", PLAIN.replace("zeros", "ones")))
    assert [country.plate_of("12AB").picture.max() for country in (dark, light)] == [0, 1]


def test_a_text_of_two_lines_is_told_by_its_break(tmp_path: Path) -> None:
    square = "np.zeros((50, 60, 3), np.uint8), text.replace('/', ''), format_name, 2"
    plate = country_of(write(tmp_path, square, layout="DD/LL")).plate_of("12/AB")
    assert (plate.text, plate.lines, plate.proportion) == ("12AB", 2, 1.2)


@pytest.mark.parametrize("text", ["", "AB12", "12A", "12AC", "12/AB"])
def test_a_text_without_format_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=f"wanted one of the formats car, forgotten, got '{text}'"):
        country_of(write(tmp_path)).plate_of(text)


@pytest.mark.parametrize(
    ("renderer", "message"),
    [
        pytest.param("", "renderer: wanted module:function, got none", id="none"),
        pytest.param("renderer", "wanted module:function, got renderer", id="no function named"),
        pytest.param(
            "missing:draw", "module missing, got no such module, and no .*missing.py", id="module"
        ),
        pytest.param("renderer:paint", "wanted a function paint in renderer", id="function"),
        pytest.param("renderer:np", "wanted a function np in renderer", id="no function"),
    ],
)
def test_a_renderer_that_cannot_be_found(tmp_path: Path, renderer: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as error:
        country_of(write(tmp_path, renderer=renderer))
    assert str(error.value).startswith(f"{tmp_path}/formats.toml: ")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param("def def", "wanted the module renderer, got SyntaxError", id="no Python"),
        pytest.param("raise SystemExit(3)", "renderer, got SystemExit: 3", id="an exit"),
        pytest.param(
            "def draw(rng, format_name, *, text, glyphs):\n    return text\n",
            "wanted a FlatPlate, got str",
            id="no plate",
        ),
    ],
)
def test_a_module_that_cannot_be_used(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        country_of(write(tmp_path, code=code))


def test_a_country_that_draws_nothing_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    file.write_text(file.read_text().replace('["DDLL"]', '["DDLL"]\nshare = 0'))
    with pytest.raises(SettingsError, match="formats: wanted one with a share, got none"):
        country_of(file)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        pytest.param("picture=1, text='', format=''", "wanted text, format and", id="other text"),
        pytest.param("np.zeros((40, 160, 3), np.uint8), text, 'bus'", "'bus', 1", id="format"),
        pytest.param(f"{PLAIN}, 2", "format and lines", id="lines"),
        pytest.param("None, text, format_name", "got NoneType", id="no picture"),
        pytest.param("np.zeros((40, 160, 3)), text, format_name", "got float64", id="kind"),
        pytest.param("np.zeros((40, 160), 'u1'), text, format_name", "got uint8", id="grey"),
        pytest.param("np.zeros((20, 80, 3), 'u1'), text, format_name", "least 24, got", id="small"),
    ],
)
def test_plates_that_are_none(tmp_path: Path, returned: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        country_of(write(tmp_path, returned))


def test_a_wide_plate_of_two_lines_would_be_read_as_one(tmp_path: Path) -> None:
    wide = "np.zeros((50, 125, 3), np.uint8), text.replace('/', ''), format_name, 2"
    with pytest.raises(SettingsError, match=r"less than 2\.5 times as wide as high, got 125 x"):
        country_of(write(tmp_path, wide, layout="DD/LL"))


def test_russia_draws_its_formats_and_refuses_made_up_ones(tmp_path: Path) -> None:
    file = tmp_path / "formats.toml"
    russian = RUSSIA.read_text()
    assert {plate_format.name for plate_format in russia().formats.format} == {*LOOKS}
    file.write_text(russian.replace('["LDDDLLRR", "LDDDLLRRR"]', '["DDDDLLD"]'))
    with pytest.raises(SettingsError, match=r"layout DDDDLLD of ru_car: .* has LDDDLL and two or"):
        country_of(file)
    file.write_text(russian.replace('"ru_taxi"', '"cab"'))
    with pytest.raises(SettingsError, match=r"layout LLDDDRR of cab: .* the Russian formats"):
        country_of(file)


def test_a_plate_without_a_generator_is_plain_and_always_the_same() -> None:
    first, second = (russia().plate_of("A123BC77") for _ in "12")
    worn = russia().plate_of("A123BC77", rng=np.random.default_rng(1))
    assert (first.picture == second.picture).all()
    assert first.picture.shape == worn.picture.shape == (168, 780, 3)
    assert (first.picture != worn.picture).any()


BARE = """
import numpy as np
from workshop.rendering.country import FlatPlate

def draw(rng, format_name, *, text, glyphs):
    {returned}
    return FlatPlate(np.zeros((40, 160, 3), np.uint8), text, format_name)
"""


@pytest.mark.parametrize(
    ("line", "found_error"),
    [
        pytest.param("raise SystemExit(3)", "SystemExit: 3", id="an exit"),
        pytest.param("raise ValueError('no\\n  such plate')", "no such plate", id="two lines"),
        pytest.param("raise ValueError", "ValueError: ", id="no message"),
        pytest.param("{}[format_name]", "KeyError: 'car'", id="another error"),
        pytest.param("rng.random()", "AttributeError: .*", id="no drawing without a generator"),
    ],
)
def test_an_error_of_a_renderer_is_one_line_with_the_layout(
    tmp_path: Path, line: str, found_error: str
) -> None:
    file = write(tmp_path, line, code=BARE)
    with pytest.raises(SettingsError, match=rf"wanted a plate .*, got: {found_error}$") as error:
        country_of(file)
    assert str(error.value).startswith(f"{file}: layout DDLL of car: renderer: ")
    assert "\n" not in str(error.value)


def test_a_plate_that_fails_after_the_check_is_told_with_file_and_layout(tmp_path: Path) -> None:
    country = country_of(file := write(tmp_path, "assert text != '00AA'", code=BARE))
    with pytest.raises(SettingsError, match="00AA without rng, got: AssertionError") as error:
        country.plate_of("00AA")
    assert str(error.value).startswith(f"{file}: layout DDLL of car: renderer: ")


def test_a_text_is_drawn_as_a_format_with_a_share_where_it_has_one(tmp_path: Path) -> None:
    file = write(tmp_path)
    text = file.read_text().replace('["DDLL"]', '["DDLL"]\nshare = 0')
    file.write_text(text + '\n[[format]]\nname = "bus"\nlayouts = ["DDLL"]\n')
    assert country_of(file).plate_of("12AB").format == "bus"
