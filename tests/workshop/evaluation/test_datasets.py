"""Labelled pictures of both formats."""

from pathlib import Path

import pytest

from orchestrator.errors import DataError
from workshop.evaluation.datasets import (
    LabelledPlate,
    Selection,
    label_file,
    label_folder,
    read_boxes,
    read_labels,
    read_scenes,
    to_pixels,
    write_labels,
)

HEADER = "image,text,type,x0,y0,x1,y1\n"


@pytest.fixture
def scenes(tmp_path: Path):
    (tmp_path / "images").mkdir()
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / "images" / name).touch()

    def with_labels(text: str) -> Path:
        (tmp_path / "labels.csv").write_text(text)
        return tmp_path

    return with_labels


@pytest.fixture
def yolo(tmp_path: Path):
    for kind in ("images", "labels"):
        (tmp_path / kind / "val").mkdir(parents=True)
    for name in ("a.jpg", "b.png", "notes.md"):
        (tmp_path / "images" / "val" / name).touch()

    def with_labels(text: str) -> Path:
        (tmp_path / "labels" / "val" / "a.txt").write_text(text)
        return tmp_path

    return with_labels


@pytest.mark.parametrize(
    ("point", "inside"),
    [
        pytest.param((30, 25), True, id="within"),
        pytest.param((10, 10), True, id="on the corner"),
        pytest.param((9.5, 10), False, id="left of it"),
        pytest.param((30, 70.5), False, id="below it"),
    ],
)
def test_a_region_holds_the_points_in_it(point, inside: bool) -> None:
    assert LabelledPlate("A001AA77", "std", (10, 10, 110, 70)).holds(point) is inside


def test_scenes_come_by_name_with_their_plates(scenes) -> None:
    folder = scenes(
        HEADER + "b.jpg,A001AA77,std,1,2,30,40\na.jpg,1234AB77,other,0,0,9,9\n"
        "b.jpg,B002BB177,bad,5,6,7,8\n"
    )
    first, second = read_scenes(folder)
    assert read_scenes(folder, Selection(limit=1)) == [first]
    assert (first.path.name, second.path.name) == ("a.jpg", "b.jpg")
    assert second.plates[0] == LabelledPlate("A001AA77", "std", (1, 2, 30, 40))
    assert [plate.type for plate in second.plates] == ["std", "bad"]


def test_a_column_of_formats_is_read_where_there_is_one(scenes) -> None:
    folder = scenes(
        f"{HEADER.strip()},format\na.jpg,A001AA77,std,1,2,3,4,ru_car\nb.jpg,A002AA77,std,1,2,3,4,\n"
    )
    first, second = read_scenes(folder)
    assert (first.plates[0].format, second.plates[0].format) == ("ru_car", "")


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        pytest.param(Selection(), "abcdefg", id="all"),
        pytest.param(Selection(every=3), "adg", id="every third"),
        pytest.param(Selection(every=3, limit=2), "ad", id="the first two of these"),
        pytest.param(Selection(every=9), "a", id="more than there are"),
    ],
)
def test_a_selection_takes_each_so_manieth_and_then_the_first(
    selection: Selection, selected: str
) -> None:
    assert selection.of("abcdefg") == list(selected)


def test_columns_may_come_in_another_order_and_with_a_byte_order_mark(scenes) -> None:
    folder = scenes("\ufefftype,text,image,x0,x1,y0,y1,note\nstd,A001AA77,a.jpg,1,3,2,4,dark\n")
    assert read_scenes(folder)[0].plates[0].region == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param("image,text\n", "labels.csv:1: wanted the columns image,text,type", id="head"),
        pytest.param("", r"labels.csv:1: .* got nothing", id="empty"),
        pytest.param(HEADER, "wanted labelled plates, got none", id="no rows"),
        pytest.param(HEADER + "a.jpg,A001AA77,std,1,2,3\n", ":2: wanted 7 values, got 6", id="few"),
        pytest.param(
            HEADER + "a.jpg,A001AA77,std,1,2,3,4\na.jpg,A001AA77,std,1,x,3,4\n",
            ":3: wanted numbers x0, y0, x1, y1, got 1, x, 3, 4",
            id="no number",
        ),
        pytest.param(
            HEADER + "a.jpg,A001AA77,std,5,2,3,4\n", ":2: wanted x0 < x1", id="inside out"
        ),
        pytest.param(HEADER + "a.jpg,A001AA77,car,1,2,3,4\n", "type std, .*got 'car'", id="type"),
        pytest.param(
            HEADER + "a.jpg,a001aa77,std,1,2,3,4\n",
            ":2: wanted a text of the characters .* got 'a001aa77'",
            id="lower case",
        ),
        pytest.param(HEADER + "a.jpg,А001АА77,std,1,2,3,4\n", "of the characters", id="Cyrillic"),  # noqa: RUF001
        pytest.param(HEADER + "c.jpg,A001AA77,std,1,2,3,4\n", "got 'c.jpg'", id="no such picture"),
    ],
)
def test_bad_labels_say_where(scenes, rows: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_scenes(scenes(rows))


def test_a_missing_folder_and_missing_labels_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"images: wanted a folder, got none"):
        read_scenes(tmp_path)
    (tmp_path / "images").mkdir()
    with pytest.raises(DataError, match=r"labels.csv: cannot be read: No such file"):
        read_scenes(tmp_path)


def test_yolo_boxes_become_pixels(yolo) -> None:
    with_plates, background = read_boxes(yolo("0 0.5 0.25 0.1 0.5\n\n0 0.1 0.1 0.2 0.2\n"), "val")
    assert with_plates.labels((200, 100))[0] == pytest.approx((90, 0, 110, 50))
    assert with_plates.labels((200, 100))[1] == pytest.approx((0, 0, 40, 20))
    assert background.path.name == "b.png"
    assert background.labels((200, 100)) == []


def test_ignored_plates_are_found_beside_the_data(yolo) -> None:
    folder = yolo("0 0.5 0.5 0.1 0.1\n")
    (folder / "ignore.csv").write_text("image,x0,y0,x1,y1\nb.png,1,2,3,4\n")
    assert [box.ignored for box in read_boxes(folder, "val")] == [(), ((1, 2, 3, 4),)]


def test_a_named_ignore_file_must_exist_and_its_plates_must_be_in_the_data(
    yolo, tmp_path: Path
) -> None:
    folder, ignore = yolo("0 0.5 0.5 0.1 0.1\n"), tmp_path / "mine.csv"
    with pytest.raises(DataError, match=r"mine.csv: cannot be read"):
        read_boxes(folder, "val", ignore=ignore)
    ignore.write_text("image,x0,y0,x1,y1\nz.png,1,2,3,4\n")
    with pytest.raises(DataError, match=r"mine.csv:2: wanted a picture of the data set, got 'z"):
        read_boxes(folder, "val", ignore=ignore)


def test_a_data_set_without_a_box_or_without_its_split_is_refused(yolo) -> None:
    with pytest.raises(DataError, match="wanted labels of 2 pictures, got no box"):
        read_boxes(yolo(""), "val")
    with pytest.raises(DataError, match=r"images/test: wanted a folder"):
        read_boxes(yolo(""), "test")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def test_labels_lie_beside_the_pictures() -> None:
    assert label_folder(Path("data/images/train")) == Path("data/labels/train")
    assert label_file(Path("data/images/val/a.b.jpg")) == Path("data/labels/val/a.b.txt")


def test_a_label_written_twice_is_one_plate(file: Path) -> None:
    file.write_text("0 0.5 0.25 0.1 0.5\n\n3 0.5 0.25 0.1 0.5\n")
    assert read_labels(file) == ((0.5, 0.25, 0.1, 0.5),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("0 0.5 0.5 0.1 0.1\n0 0.5 0.5\n", r"a.txt:2: wanted class, x, y", id="few"),
        pytest.param("0 0.5 x 0.1 0.1", r"a.txt:1: wanted class", id="no number"),
        pytest.param("0 96 50 10 10", r"a.txt:1: wanted parts of the picture", id="pixels"),
        pytest.param("0 0.5 0.5 0 0.1", r"a.txt:1: wanted parts", id="no width"),
    ],
)
def test_bad_lines_say_where(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        read_labels(file)


def test_bytes_that_are_no_text_are_refused(file: Path) -> None:
    file.write_bytes(b"0 0.5\xff")
    with pytest.raises(DataError, match=r"a.txt: wanted UTF-8 text"):
        read_labels(file)


def test_a_line_holds_centre_and_size_and_is_read_back(file: Path) -> None:
    write_labels(file, [], (100, 200))
    assert file.read_text() == ""
    write_labels(file, [(10, 20, 30, 40), (0, 0, 100, 200)], (100, 200))
    assert file.read_text() == (
        "0 0.200000 0.150000 0.200000 0.100000\n0 0.500000 0.500000 1.000000 1.000000\n"
    )
    assert to_pixels(read_labels(file)[0], (100, 200)) == pytest.approx((10, 20, 30, 40))
