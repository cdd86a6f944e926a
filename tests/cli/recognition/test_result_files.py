"""Result files, written and read back."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from orchestrator.cli.recognition.file_words import FileWords, language_of
from orchestrator.cli.recognition.options import Language
from orchestrator.cli.recognition.output_pictures import OutputPictures
from orchestrator.cli.recognition.result_entry import COLUMNS, Entry
from orchestrator.cli.recognition.result_files import (
    Csv,
    JsonLines,
    Layout,
    ResultFile,
    find_done,
)
from orchestrator.errors import PictureError, SettingsError
from orchestrator.host.csv_cells import EXCEL
from orchestrator.plates import Plate, PlateCountry, PlateRegion, Plates

FORMULAS = ["=1+1.jpg", "+1.jpg", "-1.jpg", "@SUM(1).jpg", "\t1.jpg", "\r1.jpg"]
PLATES = Plates((Plate((-3.0, 0, 90, 20), text="A123BC77", raw_text="-1"),))


def write(path: Path, *entries: Entry, layout: Layout | None = None) -> None:
    file = ResultFile(path, layout or Csv())
    for entry in entries:
        file.write(entry)
    file.close()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [*csv.DictReader(file)]


@pytest.mark.parametrize("name", [*FORMULAS, "'=1+1.jpg"])
def test_a_text_that_begins_like_a_formula_is_written_as_text(name: str, tmp_path: Path) -> None:
    write(tmp_path / "out.csv", Entry(name, PLATES), Entry("b.jpg", error=f"{name}: damaged"))
    first_row, second_row = rows_of(tmp_path / "out.csv")
    assert first_row["picture"] == f"'{name}"
    assert first_row["raw_text"] == "'-1"
    assert first_row["x0"] == "-3.0"
    assert second_row["error"] == f"'{name}: damaged"


def test_pictures_are_known_by_their_own_names_when_a_run_goes_on(tmp_path: Path) -> None:
    path, names = tmp_path / "out.csv", {*FORMULAS, "'=1+1.jpg", "''=1+1.jpg", "'a.jpg", "a.jpg"}
    write(path, *(Entry(name, PLATES) for name in sorted(names)))
    content = path.read_bytes()
    assert find_done([(path, Csv())]) == names
    assert path.read_bytes() == content


def test_a_file_for_excel_has_a_mark_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    path, entry = tmp_path / "out.csv", Entry("x,=1+1;@SUM(1).jpg", PLATES)
    write(path, entry, layout=Csv(EXCEL))
    content = path.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfpicture;")
    (row,) = csv.DictReader(path.read_text("utf-8-sig").splitlines(), delimiter=";")
    assert (row["picture"], row["x0"]) == ("x,'=1+1;'@SUM(1).jpg", "-3,0")
    assert find_done([(path, Csv(EXCEL))]) == {entry.picture}
    assert path.read_bytes() == content
    with pytest.raises(SettingsError, match="wanted a CSV file that begins picture,"):
        find_done([(path, Csv())])


@pytest.mark.parametrize("layout", [JsonLines(), Csv(), Csv(EXCEL)], ids=["jsonl", "csv", "excel"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(bytes([0xFF, 0xD8, 0xFF, 0xE0, 10, 0, 255]), id="a picture"),
        pytest.param(b"A123BC77", id="a text without an end of line"),
        pytest.param(b"A123BC77\n", id="a text"),
        pytest.param(b'{"cameras": []}', id="other JSON"),
        pytest.param(b'{\n"picture": "a.jpg"}\n', id="JSON of several lines"),
    ],
)
def test_a_file_of_another_kind_is_not_gone_on_with(
    content: bytes, layout: Layout, tmp_path: Path
) -> None:
    path = tmp_path / "car.jpg"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"car\.jpg: wanted a .*, got another"):
        find_done([(path, layout)])
    assert path.read_bytes() == content
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("layout", [JsonLines(), Csv(), Csv(EXCEL)], ids=["jsonl", "csv", "excel"])
@pytest.mark.parametrize("length", [0, 1, 12])
def test_a_run_that_was_killed_at_once_is_gone_on_with(
    length: int, layout: Layout, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    write(path, Entry("a.jpg", PLATES), layout=layout)
    path.write_text(path.read_text()[:length])
    assert find_done([(path, layout)]) == set()
    assert path.read_text() == layout.head


def test_a_file_that_another_command_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    file = ResultFile(path, JsonLines())
    file.write(Entry("a.jpg", error="damaged"))
    content = path.read_bytes()
    with pytest.raises(SettingsError, match="another command writes it"):
        find_done([(path, JsonLines())])
    with pytest.raises(SettingsError, match="another command writes it"):
        ResultFile(path, JsonLines())
    assert path.read_bytes() == content
    file.close()
    assert find_done([(path, JsonLines())]) == set()


MOSCOW = Plate((0, 0, 9, 9), text="A123BC77", format="ru_car", region=PlateRegion("77", "Moscow"))
WORDS = ("text", "format", "region_code", "region")


@pytest.mark.parametrize(
    ("language", "expected_words"),
    [
        pytest.param(Language.EN, ["A123BC77", "ru_car", "77", "Moscow"], id="english"),
        pytest.param(Language.RU, ["А123ВС77", "Стандартный номер", "77", "Москва"], id="russian"),  # noqa: RUF001
    ],
)
def test_a_file_for_people_has_their_words(
    language: Language, expected_words: list[str], tmp_path: Path
) -> None:
    path, words = tmp_path / "out.csv", FileWords.of(language)
    entries = [Entry("a.jpg", Plates((MOSCOW,))), Entry("b.jpg"), Entry("c.jpg", error="damaged")]
    write(path, *entries, layout=Csv(EXCEL, words))
    titles, row, *_ = csv.reader(path.read_text("utf-8-sig").splitlines(), delimiter=";")
    assert (len(row), len({*titles})) == (len(COLUMNS), len(COLUMNS))
    cells = dict(zip(COLUMNS, row, strict=True))
    assert [cells[name] for name in WORDS] == expected_words
    assert find_done([(path, Csv(EXCEL, words))]) == {"a.jpg", "b.jpg"}


def test_the_country_is_in_the_columns_and_in_the_json(tmp_path: Path) -> None:
    kazakh = replace(MOSCOW, country=PlateCountry("kz", 0.98765))
    entry = Entry("a.jpg", Plates((kazakh, MOSCOW)))
    write(tmp_path / "out.csv", entry)
    rows = rows_of(tmp_path / "out.csv")
    assert [(row["country"], row["country_score"]) for row in rows] == [("kz", "0.9877"), ("", "")]
    plate, other = json.loads(entry.to_line())["plates"]
    assert plate["country"] == {"code": "kz", "score": 0.9877}
    assert "country" not in other


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "ru_RU.UTF-8"}, "ru"),
        ({"LANG": "ru_RU.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "ru_RU", "LC_ALL": ""}, "ru"),
    ],
)
def test_the_first_variable_of_the_locale_counts(
    environment: dict[str, str], language: str
) -> None:
    assert language_of(environment).value == language


def test_other_files_of_results_have_the_names_themselves() -> None:
    assert '"picture": "=1+1.jpg"' in JsonLines().to_text(Entry("=1+1.jpg"))


def test_other_formats_that_opencv_knows_are_not_unpacked(tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.new("RGB", (31, 17)).save(file, "TIFF")
    with pytest.raises(PictureError, match="wanted a JPEG, PNG, WebP or BMP file"):
        OutputPictures(drawings=tmp_path).make(file.getvalue(), Entry("car.tiff"), Path("car.tiff"))
