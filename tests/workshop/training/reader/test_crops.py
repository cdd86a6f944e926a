"""The use of labelled crops for training or checks; unused ones are reported."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats, PlateFormat, russian
from workshop.training.reader.crops import (
    DroppedLabel,
    inner_box,
    read_crops,
    read_data,
    write_dropped,
)
from workshop.training.reader.reader_recipe import ReaderData

RUSSIAN = russian()


def write_labels(folder: Path, *rows: str, header: str = "crop,text", name: str = "labels.csv"):
    """Write a table and a grey crop for each row; returns the table's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        cv2.imwrite(str(folder / row.split(",")[0]), np.zeros((20, 60, 3), np.uint8))
    table = folder / name
    table.write_text("\n".join([header, *rows]), encoding="utf-8")
    return table


def test_labels_that_cannot_be_used_are_named_with_the_reason(tmp_path: Path) -> None:
    table = write_labels(
        tmp_path, "1.png,A123BC77,9", "2.png,A123BC77,6", "3.png,A123,9", "4.png,A124BC77,9",
        "5.png,A125BC77,9", header="crop,draft_text,votes_of_9",
    )  # fmt: skip
    (tmp_path / "4.png").unlink()
    (tmp_path / "5.png").write_text("no picture")
    crops, dropped = read_crops(tmp_path, table, 7, RUSSIAN)
    assert [crop.name for crop in crops] == ["1.png"]
    assert dropped == [
        DroppedLabel(str(table), "2.png", "A123BC77", "6 of 9 votes, wanted 7"),
        DroppedLabel(str(table), "3.png", "A123", "no plate format"),
        DroppedLabel(str(table), "4.png", "A124BC77", "no such file"),
        DroppedLabel(str(table), "5.png", "A125BC77", "no picture"),
    ]


def test_a_table_without_a_label_to_use_is_an_error(tmp_path: Path) -> None:
    table = write_labels(tmp_path, "1.png,", "2.png,A1")
    with pytest.raises(SettingsError, match=r"got 2 that cannot be used, the first: 1\.png: no pl"):
        read_crops(tmp_path, table, 7, RUSSIAN)


@pytest.mark.parametrize(
    ("text", "found_content"),
    [
        pytest.param("file,text\n1.png,A123BC77\n", "the columns file,text$", id="crop"),
        pytest.param("crop,plate\n1.png,A123BC77\n", "the columns crop,plate$", id="text"),
        pytest.param("", "an empty file$", id="empty"),
        pytest.param("crop,text,votes_of_9\n1.png,A123BC77,many\n", "'many'$", id="votes"),
        pytest.param("crop,text,corners\n1.png,A123BC77,1 2 3\n", "", id="corners"),
    ],
)
def test_a_table_of_other_columns_is_an_error(
    tmp_path: Path, text: str, found_content: str
) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(
        SettingsError, match=rf"labels\.csv: wanted a CSV of crop,text, got.*{found_content}"
    ):
        read_crops(tmp_path, tmp_path / "labels.csv", 7, RUSSIAN)


@pytest.mark.parametrize(
    ("label", "lines"),
    [pytest.param("A01", 1, id="one"), pytest.param("A/01", 2, id="told"),
     pytest.param("0A1", 2, id="of two alone")],
)  # fmt: skip
def test_a_text_of_one_line_or_two_has_one_unless_a_break_is_told(
    tmp_path: Path, label: str, lines: int
) -> None:
    wide, square = PlateFormat("wide", ("LDD",)), PlateFormat("square", ("L/DD", "D/LD"))
    formats = Formats("01A", (wide, square))
    table = write_labels(tmp_path, f"1.png,{label}")
    cv2.imwrite(str(tmp_path / "1.png"), np.zeros((80, 110, 3), np.uint8))
    (crop,), _ = read_crops(tmp_path, table, 7, formats)
    assert (crop.text, crop.lines) == (label.replace("/", ""), lines)


def test_corners_are_read_where_the_table_has_them(tmp_path: Path) -> None:
    rows = ("1.png,A111AA11,1 2 101 3 100 22 2 21", "2.png,B222BB22,")
    table = write_labels(tmp_path, *rows, header="crop,text,corners")
    labelled_crop, other_crop = read_crops(tmp_path, table, 7, RUSSIAN)[0]
    assert labelled_crop.quad.tolist() == [[1, 2], [101, 3], [100, 22], [2, 21]]
    height, width = other_crop.picture.shape[:2]
    low, high = other_crop.quad[0].tolist(), other_crop.quad[2].tolist()
    assert low == pytest.approx([width * 0.05 / 1.1, height * 0.2 / 1.4])
    assert high == pytest.approx([width * 1.05 / 1.1, height * 1.2 / 1.4])


def data_of(folder: Path, *rows: str, validation: Path | None = None) -> ReaderData:
    return ReaderData(folder, write_labels(folder, *rows), validation=validation)


def test_a_plate_kept_for_validation_is_in_no_training_photo(tmp_path: Path, caplog) -> None:
    caplog.set_level("INFO")
    rows = "11_1.png,A111AA11", "12_1.png,A111AA11", "13_1.png,B222BB22"
    data = read_data(data_of(tmp_path, *rows), RUSSIAN, train=True)
    assert [crop.name for crop in data.held_out] == ["11_1.png"]
    assert [crop.name for crop in data.training] == ["13_1.png"]
    assert caplog.messages == [
        "1 real crops to learn from",
        "held out 1 real crops to measure on: those of every 11th photo",
        "left out 1 more crops: they have the text of one that is held out",
    ]


def test_a_folder_of_its_own_is_measured_on_and_its_texts_are_not_learned(
    tmp_path: Path, caplog
) -> None:
    caplog.set_level("INFO")
    checked_folder = tmp_path / "checked"
    write_labels(checked_folder, "a.png,B222BB22", "b.png,nothing")
    rows = "11_1.png,A111AA11", "12_1.png,A111AA11", "13_1.png,B222BB22"
    data = read_data(
        data_of(tmp_path / "crops", *rows, validation=checked_folder), RUSSIAN, train=True
    )
    assert [crop.name for crop in data.held_out] == ["a.png"]
    assert [crop.name for crop in data.training] == ["11_1.png", "12_1.png"]
    assert [label.crop for label in data.dropped] == ["b.png"]
    assert f"held out 1 real crops to measure on: those of {checked_folder}" in caplog.messages


def test_a_run_of_rendered_plates_is_measured_on_real_ones_too(tmp_path: Path) -> None:
    checked_folder = tmp_path / "checked"
    write_labels(checked_folder, "a.png,B222BB22")
    data = read_data(ReaderData(validation=checked_folder), RUSSIAN, train=False)
    assert (len(data.training), len(data.held_out)) == (0, 1)


def test_crops_that_are_all_held_out_leave_nothing_to_learn(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="wanted some whose text is not held out, got 1, 1"):
        read_data(data_of(tmp_path, "11_1.png,A111AA11"), RUSSIAN, train=True)


def test_photos_without_a_number_are_held_out_too(tmp_path: Path) -> None:
    rows = [f"photo{number}_1.png,A{number}AA11" for number in range(100, 300)]
    data = read_data(data_of(tmp_path, *rows), RUSSIAN, train=True)
    assert len(data.training) + len(data.held_out) == 200
    assert 5 < len(data.held_out) < 40


def test_the_first_dropped_labels_are_told_and_all_are_in_a_table(tmp_path: Path, caplog) -> None:
    dropped = [
        DroppedLabel("labels.csv", f"{number}.png", "A1", "no plate format") for number in range(12)
    ]
    write_dropped(dropped, tmp_path)
    assert caplog.messages[0] == "left out 0.png, text 'A1': no plate format"
    assert caplog.messages[10:] == [
        f"left out 2 more; all of them are in {tmp_path / 'dropped.csv'}"
    ]
    rows = (tmp_path / "dropped.csv").read_text().splitlines()
    assert rows[0] == "table,crop,text,why"
    assert rows[12] == "labels.csv,11.png,A1,no plate format"


def test_the_inner_box_leaves_the_margins() -> None:
    # 100 x 50 plate with 5 % of its width and 20 % of its height on each side
    assert inner_box(np.zeros((70, 110, 3), np.uint8)) == pytest.approx([5, 10, 105, 60])
