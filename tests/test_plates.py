import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.errors import SettingsError
from orchestrator.plates import (
    FORMATS,
    SHIPPED_RULES,
    Plate,
    PlateFormat,
    PlateRules,
    Plates,
    format_of,
)
from orchestrator.toml_files import read_table


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
        pytest.param("", "", id="empty"),
        pytest.param("B84OOK197", "", id="letter where a digit belongs"),
        pytest.param("B840OK1977", "", id="too long"),
        pytest.param("D123BC77", "", id="letter no plate has"),
        pytest.param("b840ok197", "", id="lower case"),
    ],
)
def test_format_of(text: str, name: str) -> None:
    assert format_of(text) == name


def test_formats_have_distinct_names() -> None:
    assert len({plate_format.name for plate_format in FORMATS}) == len(FORMATS)


@pytest.mark.parametrize("layout", ["", "LDX", "L" * 10])
def test_a_layout_that_no_plate_can_have_is_refused(layout: str) -> None:
    with pytest.raises(SettingsError, match="layout of mine: wanted"):
        PlateFormat("mine", (layout,))


MINE = (PlateFormat("mine", ("LD",)),)


@pytest.mark.parametrize(
    ("alphabet", "formats", "message"),
    [
        pytest.param("01A1", MINE, "alphabet: wanted each character once, got '1'", id="twice"),
        pytest.param("01 A", MINE, "wanted no spaces", id="space"),
        pytest.param("01", MINE, "wanted letters for the layouts", id="no letters"),
        pytest.param("AB", MINE, "wanted digits for the layouts", id="no digits"),
        pytest.param("01A", (), "wanted at least one", id="no formats"),
        pytest.param("01A", MINE * 2, "each name once, got 'mine'", id="name twice"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(alphabet, formats, message) -> None:
    with pytest.raises(SettingsError, match=message):
        PlateRules(alphabet, formats)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('alphabet = "0A"', "wanted format, got none", id="no formats"),
        pytest.param('letters = "A"', "wanted some of alphabet, format, got letters", id="unknown"),
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
        read_table(PlateRules, file)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"wanted a TOML file, got No such file"):
        read_table(PlateRules, tmp_path / "none.toml")


def test_the_shipped_alphabet_is_that_of_the_shipped_weights() -> None:
    rules = read_table(PlateRules, SHIPPED_RULES)
    assert rules.alphabet == "0123456789ABEKMHOPCTYX"
    assert [one.name for one in rules.format][:2] == ["ru_car", "ru_trailer"]


def test_the_environment_names_another_countrys_plates(tmp_path: Path) -> None:
    file = tmp_path / "formats.toml"
    file.write_text('alphabet = "01ДЖ"\n[[format]]\nname = "mine"\nlayouts = ["LDD"]\n')
    code = (
        "from orchestrator.plates import BLANK, format_of\n"
        "print(BLANK, [format_of(text) for text in ('Ж01', 'A001AA77')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PLATE_FORMATS": str(file)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "4 ['mine', '']"


def test_no_plates_make_an_empty_table_with_columns() -> None:
    table = Plates().to_dataframe()
    assert len(table) == 0
    first = ["text", "text_score", "detection_score", "x0", "y0", "x1", "y1"]
    assert list(table.columns[:7]) == first


def test_the_table_has_everything_that_a_plate_has() -> None:
    sides = {"x0", "y0", "x1", "y1"}
    assert set(Plates().to_dataframe()) == {f.name for f in fields(Plate)} - {"xyxy"} | sides


def test_the_table_has_a_row_per_plate() -> None:
    table = Plates((Plate((1, 2, 3, 4), text="A001AA77"), Plate((5, 6, 7, 8)))).to_dataframe()
    assert table["text"].tolist() == ["A001AA77", ""]
    assert table.loc[1, ["x0", "y0", "x1", "y1"]].tolist() == [5, 6, 7, 8]


READ = Plate(
    (222.37, 336.52, 1426.28, 1380.49), 0.951234, "M456OP199", 0.999443, "M456OP199",
    (0.99,) * 9, (("M456OP199", 0.99),) * 5, ((222.5, 336.5),) * 4, "ru_military",
)  # fmt: skip
UNREAD = Plate((1.4, 1.6, 3.0, 4.0), 0.6, "", 0.4, "A001AA7")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns, as pandas finds it when nothing is set."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


@pytest.mark.parametrize(
    "terminal_columns", [pytest.param(0, id="shell"), pytest.param(20, id="file")]
)
@pytest.mark.parametrize("count", [1, 3])
def test_the_text_is_seen_in_a_narrow_terminal(narrow, count: int, terminal_columns: int) -> None:
    with pd.option_context("display.max_columns", terminal_columns, "display.width", 80):
        head, *rows = str(Plates((READ,) * count).to_dataframe()).splitlines()
    assert head.split()[:2] == ["text", "text_score"]
    assert all(row.split()[1] == "M456OP199" for row in rows[:count])
    assert max(map(len, [head, *rows])) <= 80


def test_plates_print_as_a_table_of_80_columns() -> None:
    assert str(Plates((READ, UNREAD))).splitlines() == [
        "     text  text_score  raw_text      format  detection_score  x0  y0   x1   y1",
        "M456OP199        1.00 M456OP199 ru_military             0.95 222 337 1426 1380",
        "                 0.40   A001AA7                         0.60   1   2    3    4",
    ]


def test_no_plates_print_as_that() -> None:
    assert str(Plates()) == "no plates"


def test_a_text_that_is_not_shown_can_be_marked() -> None:
    assert Plates((UNREAD,)).to_text(unread="?").splitlines()[1].split()[0] == "?"


def test_a_notebook_shows_the_same_table() -> None:
    html = Plates((READ,))._repr_html_()
    assert "<th>text</th>" in html
    assert "<td>M456OP199</td>" in html
    assert "<td>1380</td>" in html
    assert "<td>" not in Plates()._repr_html_()


def test_plates_are_a_sequence() -> None:
    plates = Plates((Plate((0, 0, 1, 1), text="A001AA77"), Plate((0, 0, 2, 2))))
    assert plates[0].text == "A001AA77"
    assert plates[1:].texts == [""]
    assert [plate.xyxy[2] for plate in plates] == [1, 2]
