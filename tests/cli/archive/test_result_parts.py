from pathlib import Path

import pytest

from orchestrator.cli.archive.result_parts import MORE, ResultParts
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.cli.recognition.parquet import Parquet
from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.errors import SettingsError

parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)

NAME = "part-0a.parquet"


@pytest.fixture
def parts(tmp_path: Path) -> ResultParts:
    return ResultParts(StorageFolder.named(f"{tmp_path}/new/out", {}))


def test_a_folder_that_is_not_there_yet_has_none(parts: ResultParts) -> None:
    assert parts.find() == set()


def test_checking_leaves_nothing_behind(parts: ResultParts, tmp_path: Path) -> None:
    parts.check_writable()
    assert [*(tmp_path / "new" / "out").iterdir()] == []


def test_a_file_where_the_folder_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(SettingsError, match="out: "):
        ResultParts(StorageFolder.named(f"{tmp_path}/out", {})).check_writable()


def test_columns_are_those_of_recognize_and_two_more(parts: ResultParts, tmp_path: Path) -> None:
    parts.check_writable()
    parts.write(NAME, [row | {"archive": "a", "bytes": 3} for row in Entry("a/1.jpg").to_rows()])
    other = Parquet(tmp_path / "recognize.parquet")
    other.write(Entry("a/1.jpg"))
    other.close()
    written = parquet.read_table(tmp_path / "new" / "out" / NAME)
    assert written.drop_columns([*MORE]) == parquet.read_table(tmp_path / "recognize.parquet")
    assert written.select(MORE).to_pylist() == [{"archive": "a", "bytes": 3}]
    assert parts.find() == {NAME}
    assert [path.name for path in (tmp_path / "new" / "out").iterdir()] == [NAME]


def test_other_files_are_not_ours(parts: ResultParts, tmp_path: Path) -> None:
    parts.check_writable()
    (tmp_path / "new" / "out" / "table.parquet").write_bytes(b"")
    (tmp_path / "new" / "out" / f".{NAME}-1f").write_bytes(b"half of it")
    assert parts.find() == set()
