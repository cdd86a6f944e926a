import os
from pathlib import Path

import pytest

from orchestrator.cli.archive.result_parts import MORE, ResultParts
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.cli.recognition.parquet import Parquet
from orchestrator.cli.recognition.result_entry import OF_COUNTRIES, Entry, Row
from orchestrator.errors import SettingsError

parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)

NAME = "part-0a.parquet"


@pytest.fixture
def parts(tmp_path: Path) -> ResultParts:
    return ResultParts(StorageFolder.parse(f"{tmp_path}/new/out", {}))


def test_checking_leaves_nothing_behind(parts: ResultParts, tmp_path: Path) -> None:
    assert parts.find() == set()
    parts.check_writable()
    assert [*(tmp_path / "new" / "out").iterdir()] == []
    (tmp_path / "out").write_text("")
    with pytest.raises(SettingsError, match="out: "):
        ResultParts(StorageFolder.parse(f"{tmp_path}/out", {})).check_writable()


def test_columns_are_those_of_recognize_without_the_country_and_two_more(
    parts: ResultParts, tmp_path: Path
) -> None:
    parts.check_writable()
    parts.write(NAME, [row | {"archive": "a", "bytes": 3} for row in Entry("a/1.jpg").to_rows()])
    other = Parquet(tmp_path / "recognize.parquet")
    other.write(Entry("a/1.jpg"))
    other.close()
    table = parquet.read_table(tmp_path / "new" / "out" / NAME)
    table_of_recognize = parquet.read_table(tmp_path / "recognize.parquet")
    assert table.drop_columns([*MORE]) == table_of_recognize.drop_columns([*OF_COUNTRIES])
    assert table.select(MORE).to_pylist() == [{"archive": "a", "bytes": 3}]
    assert parts.find() == {NAME}
    assert [path.name for path in (tmp_path / "new" / "out").iterdir()] == [NAME]


def test_other_files_are_not_ours(parts: ResultParts, tmp_path: Path) -> None:
    parts.check_writable()
    (tmp_path / "new" / "out" / "table.parquet").write_bytes(b"")
    (tmp_path / "new" / "out" / f".{NAME}-1f").write_bytes(b"half of it")
    assert parts.find() == set()


class RecordingDisk:
    """Records what is synced to the disk: the names in a folder, or the size of a file.

    After a power cut, a file that was not synced may be empty. It is gone if its name was not.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[tuple[str, object]] = []
        monkeypatch.setattr(os, "fsync", self.sync)

    def sync(self, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
        names = sorted(file.name for file in path.iterdir()) if path.is_dir() else None
        self.synced.append((path.name[:10], names if names is not None else path.stat().st_size))


@pytest.fixture
def disk(parts: ResultParts, monkeypatch: pytest.MonkeyPatch) -> RecordingDisk:
    parts.check_writable()
    return RecordingDisk(monkeypatch)


def make_rows(error: str = "") -> list[Row]:
    return [row | {"archive": "a", "bytes": 3} for row in Entry("a/1.jpg", error=error).to_rows()]


def test_a_file_is_on_the_disk_before_its_name_and_then_the_name(
    parts: ResultParts, disk: RecordingDisk, tmp_path: Path
) -> None:
    parts.write(NAME, make_rows())
    size = (tmp_path / "new" / "out" / NAME).stat().st_size
    assert disk.synced == [(".part-0a.p", size), ("out", [NAME])]


def test_the_mark_of_failed_pictures_is_on_the_disk_before_the_file(
    parts: ResultParts, disk: RecordingDisk
) -> None:
    parts.write(NAME, make_rows("damaged"))
    mark = ".part-0a.failed"
    assert disk.synced[:2] == [(mark[:10], 0), ("out", [mark])]
    assert disk.synced[3] == ("out", [mark, NAME])
    parts.write(NAME, make_rows())
    assert disk.synced[-1] == ("out", [NAME])


def test_what_is_removed_is_gone_after_a_power_cut(parts: ResultParts, disk: RecordingDisk) -> None:
    parts.write(NAME, make_rows())
    parts.remove(NAME)
    assert disk.synced[-1] == ("out", [])


def test_new_folders_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = RecordingDisk(monkeypatch)
    ResultParts(StorageFolder.parse(f"{tmp_path}/new/out", {})).check_writable()
    assert disk.synced[:2] == [(tmp_path.name[:10], ["new"]), ("new", ["out"])]


def test_a_disk_that_fails_leaves_no_file(
    parts: ResultParts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    parts.check_writable()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SettingsError, match="Input/output error"):
        parts.write(NAME, make_rows())
    assert [*(tmp_path / "new" / "out").iterdir()] == []
