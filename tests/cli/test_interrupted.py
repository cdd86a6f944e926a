"""A run in a separate process is interrupted, and a second run continues it."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.slow_command import ENVIRONMENT, command, write_photos
from tests.waiting import until

PICTURES = 60


@pytest.fixture
def photo_folder(tmp_path: Path) -> Path:
    return write_photos(tmp_path, [str(number % 4) for number in range(PICTURES)])


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    files = ("--jsonl", "out.jsonl", "--csv", "out.csv")
    return subprocess.Popen(
        command("photos", *files, *options),
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 130, id="told-to-end"),
        pytest.param(signal.SIGKILL, -9, id="killed"),
    ],
)
def test_nothing_is_lost_and_nothing_done_twice(photo_folder: Path, number: int, code: int) -> None:
    folder, jsonl = photo_folder.parent, photo_folder.parent / "out.jsonl"
    with start(folder) as first_run:
        until(lambda: jsonl.exists() and jsonl.read_bytes().count(b"\n") >= PICTURES // 2, "lines")
        first_run.send_signal(number)
        _, messages = first_run.communicate()
    assert first_run.returncode == code
    first_lines = jsonl.read_text().splitlines()[:-1]  # the last may be cut off
    assert PICTURES // 2 - 1 <= len(first_lines) < PICTURES - 1
    with start(folder, "--resume") as second_run:
        _, summary = second_run.communicate()
    assert second_run.returncode == 0, summary
    expected_names = [f"photos/{number:03}.jpg" for number in range(PICTURES)]
    lines = jsonl.read_text().splitlines()
    assert [json.loads(line)["picture"] for line in lines] == expected_names
    assert lines[: len(first_lines)] == first_lines
    rows = (folder / "out.csv").read_text().splitlines()[1:]
    # A picture has 0 to 3 plates; one without has a row, too.
    assert len(rows) == PICTURES // 4 * (1 + 1 + 2 + 3)
    assert len({tuple(row.split(",")[:4]) for row in rows}) == len(rows)
    assert "were done before" in summary
    assert code == -9 or "Stopped. To go on, give the same command again with --resume." in messages
