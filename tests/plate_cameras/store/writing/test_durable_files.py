"""Durable files exist completely or not at all."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from plate_cameras.store.writing.durable_files import write_atomically, write_together


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as opened:
        yield opened


def list_files(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_no_files_make_no_folder(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    write_together({}, tmp_path / "root", threads)

    assert list_files(tmp_path) == []


def test_files_of_several_folders_are_written(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    root = tmp_path / "above" / "root"
    contents = {root / f"{number % 3}" / f"{number}": b"%d" % number for number in range(20)}
    write_together(contents, root, threads)

    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == contents


def test_an_error_leaves_no_part_of_a_file(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        write_together(
            {tmp_path / "a": b"first", tmp_path / "file" / "b": b"second"}, tmp_path, threads
        )

    assert list_files(tmp_path) == ["file"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"first")
    write_atomically(tmp_path / "a", b"second")

    assert (tmp_path / "a").read_bytes() == b"second"
    assert list_files(tmp_path) == ["a"]
