import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats, PlateFormat, Region, read_formats, russian

RUSSIAN = russian()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("B840OK197", "ru_car"),
        ("A001AA77", "ru_car"),
        ("AP94756", "ru_taxi"),
        ("HO720654", "ru_trailer"),
        ("TK647C77", "ru_transit"),
        ("3425EE43", "ru_military"),
        ("A123477", "ru_police"),
        ("TKA12865", "ru_export"),
        ("123A77", "ru_police_trailer"),
        ("004CD177", "ru_diplomatic_head"),
        ("167D00177", "ru_diplomatic"),
        ("004T00177", "ru_diplomatic"),
        pytest.param("AB123400", "ru_military_trailer", id="a trailer of no region"),
        pytest.param("004DC177", "", id="letters that stand for themselves alone"),
        pytest.param("004A00177", "", id="another letter than D and T"),
        pytest.param("A123DA77", "", id="the D of diplomats on an ordinary plate"),
        pytest.param("", "", id="empty"),
        pytest.param("B84OOK197", "", id="letter where a digit belongs"),
        pytest.param("B840OK1977", "", id="too long"),
        pytest.param("D123BC77", "", id="letter no plate has"),
        pytest.param("b840ok197", "", id="lower case"),
    ],
)
def test_format_of(text: str, name: str) -> None:
    assert RUSSIAN.format_of(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A999CB21", "ru_car_square"),
        ("A321MX125", "ru_car_square"),
        ("1234AB77", "ru_motorcycle"),
        ("1234AB00", "ru_military_square"),
        ("AB12CE77", "ru_moped"),
        ("AB771234", "ru_offroad"),
        ("1234A77", "ru_police_motorcycle"),
        pytest.param("004CD177", "", id="one line alone"),
    ],
)
def test_format_of_two_lines(text: str, name: str) -> None:
    assert RUSSIAN.format_of(text, lines=2) == name


@pytest.mark.parametrize("layout", ["", "LDX", "L" * 10, "/LD", "LD/", "L/D/L", "LLLLL/DDDDD"])
def test_a_layout_that_no_plate_can_have_is_refused(layout: str) -> None:
    with pytest.raises(SettingsError, match="layout of mine: wanted"):
        PlateFormat("mine", (layout,))


MINE = (PlateFormat("mine", ("LD",)),)
MANY = (
    PlateFormat("many", tuple(f"{n:06b}".replace("0", "L").replace("1", "D") for n in range(64))),
)
WIDE = "".join(map(chr, range(0x4E00, 0x4E00 + 126))) + "1"


@pytest.mark.parametrize(
    ("alphabet", "formats", "message"),
    [
        pytest.param("01A1", MINE, "alphabet: wanted each character once, got '1'", id="twice"),
        pytest.param("01 A", MINE, "wanted no spaces", id="space"),
        pytest.param("01/A", MINE, "wanted no spaces and no /", id="break"),
        pytest.param("01", MINE, "wanted letters for the layouts", id="no letters"),
        pytest.param("AB", MINE, "wanted digits for the layouts", id="no digits"),
        pytest.param("01A", (), "wanted 1 to 63 layouts .* got 0", id="no formats"),
        pytest.param("01A", MANY, "wanted 1 to 63 layouts .* got 64", id="too many layouts"),
        pytest.param(WIDE, MINE, "wanted up to 126 characters, got 127", id="too many characters"),
        pytest.param(
            "01A",
            (PlateFormat("mine", ("Ld",)),),
            "alphabet: wanted D for the layouts, got '01A'",
            id="a letter that stands for itself",
        ),
        pytest.param("01A", MINE * 2, "each name once, got 'mine'", id="name twice"),
    ],
)
def test_formats_that_contradict_themselves_are_refused(alphabet, formats, message) -> None:
    with pytest.raises(SettingsError, match=message):
        Formats(alphabet, formats)


@pytest.mark.parametrize(
    ("letters", "message"),
    [
        pytest.param("AB", "no digits, got 'B'", id="outside the alphabet"),
        pytest.param("A1", "no digits, got '1'", id="digit"),
        pytest.param("AA", "each character once, got 'A'", id="twice"),
    ],
)
def test_letters_that_a_place_cannot_admit_are_refused(letters: str, message: str) -> None:
    with pytest.raises(SettingsError, match="letters: wanted .*" + message):
        Formats("01A", MINE, letters=letters)


def test_a_place_admits_the_letters_of_the_file_or_all() -> None:
    few = Formats("01AB", MINE, letters="A")
    assert [few.admits("L", char) for char in "AB0/"] == [True, False, False, False]
    all_letters = Formats("01AB", MINE)
    assert [all_letters.admits("L", char) for char in "AB0/"] == [True, True, False, False]
    assert [few.admits("b", char) for char in "ABb"] == [False, True, False]
    assert [few.admits("R", char) for char in "A12"] == [False, True, False]


@pytest.mark.parametrize("code", ["A1", "2", ""])
def test_codes_that_no_plate_can_bear_are_refused(code: str) -> None:
    with pytest.raises(SettingsError, match="regions: wanted codes of the alphabet's digits, got"):
        Formats("01A", MINE, (Region("here", (code,)),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('alphabet = "0A"', "wanted format, got none", id="no formats"),
        pytest.param(
            'characters = "A"',
            "wanted some of alphabet, format, region, renderer, letters, .*, got character",
            id="unknown",
        ),
        pytest.param(
            "alphabet = 1\nformat = []", "alphabet: wanted a text in quotes, got 1", id="type"
        ),
        pytest.param("[[", "wanted a TOML file, got", id="no TOML"),
        pytest.param(
            'alphabet = "0A"\n[[format]]\nname = "it"\nlayouts = "LD"',
            "layouts: wanted a list, got 'LD'",
            id="layouts without brackets",
        ),
    ],
)
def test_a_wrong_file_is_named_with_what_was_wanted(tmp_path: Path, text: str, message) -> None:
    file = tmp_path / "formats.toml"
    file.write_text(text + "\n")
    with pytest.raises(SettingsError, match="formats.toml: .*" + message):
        read_formats(file)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"wanted a TOML file, got No such file"):
        read_formats(tmp_path / "none.toml")


def test_the_shipped_alphabet_is_that_of_the_shipped_weights() -> None:
    assert RUSSIAN.alphabet == "0123456789ABEKMHOPCTYXD"
    assert [kind.name for kind in RUSSIAN.format][:2] == ["ru_car", "ru_car_square"]


def test_the_blank_is_the_class_after_the_alphabet() -> None:
    assert (RUSSIAN.blank, RUSSIAN.classes) == (23, 24)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("A001AA77", "Moscow", id="two digits"),
        pytest.param("B840OK197", "Moscow", id="three digits"),
        pytest.param("AP947756", "Orenburg Oblast", id="a trailer's last two"),
        pytest.param("AP94756", "Orenburg Oblast", id="taxi"),
    ],
)
def test_a_text_names_its_region(text: str, name: str) -> None:
    region = RUSSIAN.region_of(text)
    assert region is not None
    assert region.name == name


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A001AA00", id="no such code"),
        pytest.param("3425EE43", id="a military district is no region"),
        pytest.param("A001", id="no format"),
        pytest.param("", id="empty"),
    ],
)
def test_a_text_without_a_known_region_has_none(text: str) -> None:
    assert RUSSIAN.region_of(text) is None


def test_two_countries_live_in_one_process(tmp_path: Path) -> None:
    file = tmp_path / "formats.toml"
    file.write_text(
        'alphabet = "01ДЖ"\nregion = [{ name = "here", codes = ["1"] }]\n'
        '[[format]]\nname = "mine"\nlayouts = ["LDR"]\n'
    )
    mine = read_formats(file)
    assert (mine.blank, mine.format_of("Ж01"), mine.format_of("A001AA77")) == (4, "mine", "")
    assert mine.region_of("Ж01") == Region("here", ("1",))
    assert RUSSIAN.format_of("Ж01") == ""


def test_a_text_has_the_format_of_as_many_lines() -> None:
    square = PlateFormat("square", ("LD/DR", "LD"))
    mine = Formats("01A", (square, PlateFormat("flat", ("LDDR",))), (Region("here", ("1",)),))
    assert (mine.format_of("A001"), mine.format_of("A001", lines=2)) == ("flat", "square")
    assert (mine.format_of("A0"), mine.format_of("A0", lines=2)) == ("square", "")
    assert (mine.layouts(1), mine.layouts(2)) == (("LD", "LDDR"), ("LD/DR",))


def test_the_region_of_a_plate_of_two_lines_is_known() -> None:
    mine = Formats("01A", (PlateFormat("square", ("LD/DR",)),), (Region("here", ("1",)),))
    assert mine.region_of("A001") == mine.region_of("A001", "square") == Region("here", ("1",))


def test_nothing_is_read_before_it_is_asked_for(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLATE_FORMATS", str(tmp_path / "nowhere.toml"))
    code = "import orchestrator.client, orchestrator.pipeline, orchestrator.cli.app"
    subprocess.run([sys.executable, "-c", code], check=True)


SIGNED = 'alphabet = "0123456789ABEKMHOPCTYXDⓀ"\nextends = "{extends}"\n' + (
    '[[country]]\ncode = "kz"\nsign = "{sign}"\n'
    '[[format]]\nname = "kz_car"\nlayouts = ["ⓚDDDAAADD"]\n'
)


def test_a_file_may_extend_a_country_and_its_signs_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "formats.toml"
    file.write_text(SIGNED.format(extends="russia", sign="Ⓚ"), encoding="utf-8")
    formats = read_formats(file)
    assert formats.format[:-1] == RUSSIAN.format
    assert formats.format_of("A001AA77") == "ru_car"
    assert formats.format_of("A00ⓀAA77") == ""
    assert formats.format_of("Ⓚ123ABD02") == "kz_car"  # D is no letter of Russian cars
    assert formats.shown("Ⓚ123ABD02") == "123ABD02"


@pytest.mark.parametrize(
    ("extends", "sign", "message"),
    [
        pytest.param("atlantis", "Ⓚ", "extends: wanted one of .*russia", id="unknown"),
        pytest.param("../countries/russia", "Ⓚ", "extends: wanted one of", id="a path"),
        pytest.param("russia", "Ⓠ", "country: wanted signs of the alphabet", id="not there"),
        pytest.param("russia", "1", "that have a lower case, got '1'", id="a digit"),
    ],
)
def test_unknown_countries_and_wrong_signs_are_refused(tmp_path, extends, sign, message) -> None:
    file = tmp_path / "formats.toml"
    file.write_text(SIGNED.format(extends=extends, sign=sign), encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        read_formats(file)
