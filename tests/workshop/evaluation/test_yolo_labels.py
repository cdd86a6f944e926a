from pathlib import Path

import pytest

from orchestrator.errors import DataError
from workshop.evaluation.datasets import (
    label_file,
    label_folder,
    read_labels,
    to_pixels,
    write_labels,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def test_labels_lie_beside_the_pictures() -> None:
    assert label_folder(Path("data/images/train")) == Path("data/labels/train")
    assert label_file(Path("data/images/val/a.b.jpg")) == Path("data/labels/val/a.b.txt")


def test_without_a_file_there_are_no_labels(file: Path) -> None:
    assert read_labels(file) == ()


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
