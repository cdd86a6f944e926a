import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Sink
from plate_cameras.sinks.json_lines import JsonLinesReceiver
from plate_cameras.sinks.receiver import DeliveryError
from tests.plate_cameras.sinks.deliveries import make_delivery


def append(path: Path, *numbers: int, **options: str) -> None:
    receiver = JsonLinesReceiver(Sink("log", "jsonl", str(path), options=options))
    for number in numbers:
        asyncio.run(receiver.send(make_delivery(number)))
    asyncio.run(receiver.close())


def read_ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def test_each_event_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "passes.jsonl"
    append(path, 1, 2)
    append(path, 3)
    assert read_ids(path) == ["pass-1-closed", "pass-2-closed", "pass-3-closed"]


@pytest.mark.parametrize("torn", ['{"id": "pa', "x" * 10_000])
def test_a_torn_line_is_removed(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "passes.jsonl"
    append(path, 1)
    with path.open("a") as file:
        file.write(torn)
    append(path, 2)
    assert read_ids(path) == ["pass-1-closed", "pass-2-closed"]


def test_a_file_of_nothing_but_a_torn_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    path.write_text("{")
    append(path, 1)
    assert read_ids(path) == ["pass-1-closed"]


def test_a_large_file_is_renamed_and_the_oldest_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    append(path, *range(5), rotate_bytes="1", kept_files="2")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "passes.jsonl",
        "passes.jsonl.1",
        "passes.jsonl.2",
    ]
    assert read_ids(path) == ["pass-4-closed"]
    assert read_ids(tmp_path / "passes.jsonl.2") == ["pass-2-closed"]


def test_a_full_disk_is_a_failure() -> None:
    with pytest.raises(DeliveryError, match="cannot write: No space left"):
        append(Path("/dev/full"), 1)


def name_of(descriptor: int) -> str:
    return Path(os.readlink(f"/proc/self/fd/{descriptor}")).name  # noqa: PTH115


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the synced files and folders; the list grows with each."""
    names: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: names.append(name_of(descriptor)))
    return names


def test_a_new_file_and_its_folders_are_synced(tmp_path: Path, synced: list[str]) -> None:
    path = tmp_path / "logs" / "gate" / "passes.jsonl"
    append(path, 1, 2)
    assert synced == [tmp_path.name, "logs", "passes.jsonl", "gate", "passes.jsonl"]


def test_the_name_of_a_file_that_was_there_is_synced_once(
    tmp_path: Path, synced: list[str]
) -> None:
    """The process that created the file may have been killed before its name was on the disk."""
    path = tmp_path / "passes.jsonl"
    path.touch()
    append(path, 1, 2)
    assert synced == ["passes.jsonl", tmp_path.name, "passes.jsonl"]


def test_names_that_were_changed_are_synced(tmp_path: Path, synced: list[str]) -> None:
    path = tmp_path / "passes.jsonl"
    append(path, 1, 2, rotate_bytes="1")
    assert synced == ["passes.jsonl", tmp_path.name] * 2


def test_a_file_that_somebody_has_moved_is_made_again(tmp_path: Path, synced: list[str]) -> None:
    path, moved = tmp_path / "passes.jsonl", tmp_path / "old"
    receiver = JsonLinesReceiver(Sink("log", "jsonl", str(path)))
    asyncio.run(receiver.send(make_delivery(1)))
    path.rename(moved)
    asyncio.run(receiver.send(make_delivery(2)))
    assert (read_ids(path), read_ids(moved)) == (["pass-2-closed"], ["pass-1-closed"])
    assert synced == ["passes.jsonl", tmp_path.name] * 2


def test_only_the_user_may_read_new_files(tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    append(path, 1, 2, rotate_bytes="1")
    assert [file.stat().st_mode & 0o777 for file in tmp_path.iterdir()] == [0o600, 0o600]


def test_a_torn_line_is_not_kept_in_an_older_file(tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    append(path, 1)
    with path.open("a") as file:
        file.write("{")
    append(path, 2, rotate_bytes="1")
    assert read_ids(tmp_path / "passes.jsonl.1") == ["pass-1-closed"]


def test_a_file_is_renamed_only_when_a_line_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "passes.jsonl"
    append(path, 1)
    size = path.stat().st_size
    append(path, 2, rotate_bytes=str(2 * size))
    assert [file.name for file in tmp_path.iterdir()] == ["passes.jsonl"]
    append(path, 3, rotate_bytes=str(3 * size - 1))
    assert read_ids(tmp_path / "passes.jsonl.1") == ["pass-1-closed", "pass-2-closed"]


def test_five_older_files_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    append(tmp_path / "passes.jsonl", *range(9), rotate_bytes="1")
    assert len([*tmp_path.iterdir()]) == 6


def test_a_file_without_a_limit_is_not_renamed(tmp_path: Path) -> None:
    append(tmp_path / "passes.jsonl", *range(9), kept_files="1")
    assert len([*tmp_path.iterdir()]) == 1


async def test_a_disk_that_hangs_gets_no_second_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line may still be written after its sender's timeout."""
    path, hangs, answers = tmp_path / "passes.jsonl", threading.Event(), threading.Event()
    receiver = JsonLinesReceiver(Sink("log", "jsonl", str(path)))

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
    assert read_ids(path) == ["pass-1-closed", "pass-2-closed"]


def test_a_failed_line_does_not_hold_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    path = tmp_path / "passes.jsonl"
    receiver = JsonLinesReceiver(Sink("log", "jsonl", str(path)))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(DeliveryError, match="cannot write: Input/output error"):
            asyncio.run(receiver.send(make_delivery(1)))
    asyncio.run(receiver.send(make_delivery(1)))
    assert {*read_ids(path)} == {"pass-1-closed"}


@pytest.mark.parametrize("text", ["-1", "many", "1e3", "9" * 30, ""])
@pytest.mark.parametrize("option", ["rotate_bytes", "kept_files"])
def test_an_option_that_is_no_number_is_told(option: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"sink log: {option}: wanted a whole number"):
        JsonLinesReceiver(Sink("log", "jsonl", "passes.jsonl", options={option: text}))


def test_one_older_file_is_the_least() -> None:
    with pytest.raises(SettingsError, match="kept_files: wanted a whole number of at least 1"):
        JsonLinesReceiver(Sink("log", "jsonl", "passes.jsonl", options={"kept_files": "0"}))
    JsonLinesReceiver(Sink("log", "jsonl", "passes.jsonl", options={"kept_files": "1"}))
