"""A file with a line for each event."""

import asyncio
import json
import os
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Sink
from plate_cameras.sinks.json_lines import JsonLinesReceiver
from plate_cameras.sinks.receiver import DeliveryError
from tests.plate_cameras.sinks.receivers import make_delivery


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "passes.jsonl"


def open_log(path: Path | str, **options: str) -> JsonLinesReceiver:
    return JsonLinesReceiver(Sink("log", "jsonl", str(path), options=options))


def append(path: Path, *numbers: int, **options: str) -> None:
    receiver = open_log(path, **options)
    for number in numbers:
        asyncio.run(receiver.send(make_delivery(number)))
    asyncio.run(receiver.close())


def read(path: Path) -> list[int]:
    """Return the numbers of the events in a file."""
    ids = [json.loads(line)["id"] for line in path.read_text().splitlines()]
    return [int(id_.split("-")[1]) for id_ in ids]


def test_each_event_is_a_line_that_only_the_user_may_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "passes.jsonl"
    append(path, 1, 2)
    append(path, 3)
    assert read(path) == [1, 2, 3]
    append(path, 4, rotate_bytes="1")
    assert [file.stat().st_mode & 0o777 for file in path.parent.iterdir()] == [0o600, 0o600]


@pytest.mark.parametrize(
    ("first", "torn"),
    [
        pytest.param([1], '{"id": "pa', id="short"),
        pytest.param([1], "x" * 10_000, id="long"),
        pytest.param([], "{", id="nothing else"),
    ],
)
@pytest.mark.parametrize("rotate_bytes", ["", "1"], ids=["in-its-file", "in-an-older-file"])
def test_a_torn_line_is_removed(path: Path, first: list[int], torn: str, rotate_bytes: str) -> None:
    append(path, *first)
    with path.open("a") as file:
        file.write(torn)
    append(path, 2, **({"rotate_bytes": rotate_bytes} if rotate_bytes else {}))
    older = path.with_name("passes.jsonl.1")
    assert (read(older) if older.exists() else []) + read(path) == [*first, 2]


def test_a_file_is_renamed_when_a_line_does_not_fit(path: Path) -> None:
    append(path, 1)
    size = path.stat().st_size
    append(path, 2, rotate_bytes=str(2 * size))
    assert [file.name for file in path.parent.iterdir()] == ["passes.jsonl"]
    append(path, 3, rotate_bytes=str(3 * size - 1))
    assert read(path.with_name("passes.jsonl.1")) == [1, 2]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        pytest.param({"rotate_bytes": "1", "kept_files": "2"}, [8, 7, 6], id="two"),
        pytest.param({"rotate_bytes": "1"}, [8, 7, 6, 5, 4, 3], id="five by default"),
        pytest.param({"kept_files": "1"}, [0], id="one file without a limit"),
    ],
)
def test_the_oldest_files_are_left_out(
    path: Path, options: dict[str, str], numbers: list[int]
) -> None:
    append(path, *range(9), **options)
    assert [read(file)[0] for file in sorted(path.parent.iterdir())] == numbers


def test_a_full_disk_is_a_failure() -> None:
    with pytest.raises(DeliveryError, match="cannot write: No space left"):
        append(Path("/dev/full"), 1)


def name_of(descriptor: int) -> str:
    return Path(os.readlink(f"/proc/self/fd/{descriptor}")).name  # noqa: PTH115


@pytest.fixture
def synced_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the synced files and folders; the list grows with each."""
    names: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: names.append(name_of(descriptor)))
    return names


def test_a_new_file_and_its_folders_are_synced(tmp_path: Path, synced_names: list[str]) -> None:
    append(tmp_path / "logs" / "gate" / "passes.jsonl", 1, 2)
    assert synced_names == [tmp_path.name, "logs", "passes.jsonl", "gate", "passes.jsonl"]


def test_the_name_of_a_file_that_was_there_is_synced_once(
    path: Path, synced_names: list[str]
) -> None:
    """The process that created the file may have been killed before its name was on the disk."""
    path.touch()
    append(path, 1, 2)
    assert synced_names == ["passes.jsonl", path.parent.name, "passes.jsonl"]


def test_names_that_were_changed_are_synced(path: Path, synced_names: list[str]) -> None:
    append(path, 1, 2, rotate_bytes="1")
    assert synced_names == ["passes.jsonl", path.parent.name] * 2


def test_a_file_that_somebody_has_moved_is_made_again(path: Path, synced_names: list[str]) -> None:
    receiver, moved_path = open_log(path), path.with_name("old")
    asyncio.run(receiver.send(make_delivery(1)))
    path.rename(moved_path)
    asyncio.run(receiver.send(make_delivery(2)))
    assert (read(path), read(moved_path)) == ([2], [1])
    assert synced_names == ["passes.jsonl", path.parent.name] * 2


async def test_a_disk_that_hangs_gets_no_second_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line may still be written after its sender's timeout."""
    receiver, hangs, answers = open_log(path), threading.Event(), threading.Event()

    def hang(_: int) -> None:
        hangs.set()
        assert answers.wait(60)

    monkeypatch.setattr(os, "fsync", hang)
    first = asyncio.create_task(receiver.send(make_delivery(1)))
    await asyncio.to_thread(hangs.wait, 60)
    with pytest.raises(DeliveryError, match="has not answered for the line before"):
        await receiver.send(make_delivery(2))
    answers.set()
    await first
    await receiver.send(make_delivery(2))
    assert read(path) == [1, 2]


def test_a_failed_line_does_not_hold_the_next_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = open_log(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", Mock(side_effect=OSError(5, "Input/output error")))
        with pytest.raises(DeliveryError, match="cannot write: Input/output error"):
            asyncio.run(receiver.send(make_delivery(1)))
    asyncio.run(receiver.send(make_delivery(1)))
    assert {*read(path)} == {1}


@pytest.mark.parametrize("text", ["-1", "many", "1e3", "9" * 30, ""])
@pytest.mark.parametrize("option", ["rotate_bytes", "kept_files"])
def test_an_option_that_is_no_number_is_told(option: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"sink log: {option}: wanted a whole number"):
        open_log("passes.jsonl", **{option: text})


def test_one_older_file_is_the_least() -> None:
    open_log("passes.jsonl", kept_files="1")
    with pytest.raises(SettingsError, match="kept_files: wanted a whole number of at least 1"):
        open_log("passes.jsonl", kept_files="0")
