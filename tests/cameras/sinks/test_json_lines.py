import asyncio
import json
from pathlib import Path

import pytest

from orchestrator.cameras.configuration import Sink
from orchestrator.cameras.sinks.json_lines import JsonLinesReceiver
from orchestrator.cameras.sinks.receiver import DeliveryError
from tests.cameras.sinks.deliveries import make_delivery


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
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "passes.jsonl",
        "passes.jsonl.1",
        "passes.jsonl.2",
    ]
    assert read_ids(path) == ["pass-4-closed"]
    assert read_ids(tmp_path / "passes.jsonl.2") == ["pass-2-closed"]


def test_a_full_disk_is_a_failure() -> None:
    with pytest.raises(DeliveryError, match="cannot write: No space left"):
        append(Path("/dev/full"), 1)
