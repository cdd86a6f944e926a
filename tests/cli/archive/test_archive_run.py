"""A run of the archive without Ray: its partitions, the ones that it skips, and its messages."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.archive.actor import ArchiveActor, Job, PartitionOutcome, from_row, to_row
from orchestrator.cli.archive.archive_run import ArchiveRun
from orchestrator.cli.archive.listing import Partition
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.errors import ServerError
from tests.cli.archive.slow_networks import BROKEN, UNANSWERED, SlowNetworks

parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)

PICTURES = 24


class LocalExecutor:
    """An executor in this process, which stops after a number of partitions."""

    def __init__(self, max_partitions: int = 1000) -> None:
        self.max_partitions, self.partition_count = max_partitions, 0

    def connect(self) -> Any:
        return nullcontext()

    def work(self, job: Job, partitions: Iterable[Partition]) -> Iterator[PartitionOutcome]:
        worker = ArchiveActor(job)
        for partition in partitions:
            if self.partition_count == self.max_partitions:
                raise KeyboardInterrupt
            self.partition_count += 1
            yield worker.work(from_row(to_row(partition)))


class FakeScreen(list[str]):
    """A screen that records its messages."""

    report = list.append

    def progress(self, _: object) -> Any:
        return nullcontext()

    def advance(self) -> None:
        pass


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for number in range(PICTURES):
        path = tmp_path / "archive" / f"{number % 3}" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a picture")
    return tmp_path / "archive"


def run(
    archive: Path, executor: LocalExecutor | None = None, **options: Any
) -> tuple[int, FakeScreen, LocalExecutor]:
    out = StorageFolder.parse(str(archive.with_name("out")), {})
    job = Job(StorageFolder.parse(str(archive), {}), out, SlowNetworks(pause_s=0))
    messages, executor = FakeScreen(), executor or LocalExecutor()
    status = ArchiveRun(job, executor, usual_size=4, screen=messages, **options).run()
    return status, messages, executor


def read_rows(archive: Path) -> list[dict[str, Any]]:
    table = parquet.read_table(archive.with_name("out")).to_pylist()
    return sorted(table, key=lambda row: row["picture"])


def list_names(archive: Path) -> list[str]:
    return sorted(str(path) for path in archive.rglob("*.jpg"))


def test_an_empty_archive_is_nothing_done(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    status, messages, _ = run(tmp_path / "archive")
    assert status == 2
    assert messages[-1] == f"{tmp_path}/archive: no pictures in this folder"


def test_every_picture_is_in_the_table_once(archive: Path) -> None:
    status, messages, _ = run(archive)
    assert status == 0
    assert [row["picture"] for row in read_rows(archive)] == list_names(archive)
    assert {(row["archive"], row["bytes"]) for row in read_rows(archive)} == {(str(archive), 9)}
    assert re.fullmatch("24 pictures in .*: 24 plates found, 24 read", messages[-1])
    status, messages, executor = run(archive)
    assert (status, executor.partition_count) == (0, 0)
    assert "24 pictures were done before" in messages


def test_a_run_that_was_stopped_is_gone_on_with(archive: Path) -> None:
    status, messages, _ = run(archive, LocalExecutor(max_partitions=2))
    rows_before = len(read_rows(archive))
    assert status == 130
    assert messages[-1] == "Stopped. The same command goes on from here."
    assert 0 < rows_before < PICTURES
    status, messages, _ = run(archive)
    assert (status, messages[0]) == (0, f"{rows_before} pictures were done before")
    assert [row["picture"] for row in read_rows(archive)] == list_names(archive)


def test_a_broken_picture_is_a_row_with_its_error_and_is_tried_again(archive: Path) -> None:
    (archive / "1" / "01.jpg").write_bytes(BROKEN)
    status, messages, _ = run(archive)
    errors = {row["picture"]: row["error"] for row in read_rows(archive) if row["error"]}
    assert (status, errors) == (1, {f"{archive}/1/01.jpg": "damaged picture"})
    assert messages[-1].endswith("23 plates found, 23 read, 1 picture failed")
    status, messages, executor = run(archive)
    assert (status, executor.partition_count) == (1, 1)
    assert messages[0] == f"{archive}/1/01.jpg: damaged picture"
    assert "23 pictures were done before" in messages
    assert messages[-1].endswith("0 plates found, 0 read, 1 picture failed")
    assert [row["picture"] for row in read_rows(archive)] == list_names(archive)


def test_of_a_part_only_what_failed_is_tried_again(archive: Path) -> None:
    content = b"a pict"  # as long as BROKEN: the size of a picture is part of its name
    for path in archive.rglob("*.jpg"):
        path.write_bytes(content)
    (archive / "1" / "01.jpg").write_bytes(BROKEN)
    run(archive)
    for path in archive.rglob("*.jpg"):
        path.write_bytes(BROKEN)
    (archive / "1" / "01.jpg").write_bytes(content)
    assert run(archive)[0] == 0
    assert [row["picture"] for row in read_rows(archive)] == list_names(archive)
    assert {row["error"] for row in read_rows(archive)} == {None}
    status, _, executor = run(archive)
    assert (status, executor.partition_count) == (0, 0)


def test_names_that_look_alike_in_the_table_are_tried_again_together(archive: Path) -> None:
    for name in (b"a\xfe.jpg", b"a\xff.jpg"):
        (archive / os.fsdecode(name)).write_bytes(b"broken" if name[1] == 0xFF else b"a pict")
    assert run(archive)[0] == 1
    status, messages, _ = run(archive)
    assert status == 1
    assert messages[-1].startswith("2 pictures in ")
    assert len(read_rows(archive)) == PICTURES + 2


def test_pruning_removes_the_notes_of_failures_too(archive: Path) -> None:
    (archive / "1" / "01.jpg").write_bytes(BROKEN)
    run(archive)
    (archive / "1" / "01.jpg").write_bytes(b"another picture")
    assert run(archive, is_pruned=True)[0] == 0
    assert [*archive.with_name("out").glob(".*")] == []


def test_no_answer_is_no_result_and_is_asked_for_again(archive: Path) -> None:
    (archive / "1" / "01.jpg").write_bytes(UNANSWERED)
    status, messages, _ = run(archive)
    assert status == 1
    assert messages[-1] == "1 part could not be done. The same command goes on from here."
    assert f"{archive}/1/01.jpg" not in {row["picture"] for row in read_rows(archive)}
    (archive / "1" / "01.jpg").write_bytes(b"a picture.")
    assert run(archive)[0] == 0
    assert [row["picture"] for row in read_rows(archive)] == list_names(archive)


def test_a_large_picture_that_always_breaks_the_connection_holds_up_no_other(archive: Path) -> None:
    (archive / "1" / "01.jpg").write_bytes(UNANSWERED * 200_000)
    run(archive)
    errors = {row["picture"]: row["error"] for row in read_rows(archive) if row["error"]}
    assert [*errors] == [f"{archive}/1/01.jpg"]
    assert errors.popitem()[1].endswith("got none. Does a proxy allow 2000000 bytes?")
    assert len(read_rows(archive)) == PICTURES


def test_a_server_that_is_gone_ends_the_run(archive: Path) -> None:
    for path in archive.rglob("*.jpg"):
        path.write_bytes(UNANSWERED)
    with pytest.raises(ServerError, match="3 parts in a row without an answer"):
        run(archive)


def test_a_changed_picture_changes_one_part_and_the_old_one_is_reported(archive: Path) -> None:
    run(archive)
    (archive / "1" / "01.jpg").write_bytes(b"another picture")
    _, messages, executor = run(archive)
    assert executor.partition_count == 1
    assert any("1 file of an earlier state of this archive" in line for line in messages)
    _, messages, _ = run(archive, is_pruned=True)
    assert "removed 1 file of an earlier state of this archive" in messages
    assert [row["picture"] for row in read_rows(archive)] == list_names(archive)
