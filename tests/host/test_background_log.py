"""A service goes on and ends when nobody reads its log."""

import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from orchestrator.host.background_log import BackgroundHandler

LOGS = """
import logging
import orchestrator.cli.startup
from orchestrator.cli.app import app
def run_services(*_):
    for number in range(1000):
        logging.warning("%d of a thousand lines, which do not fit the pipe", number)
    print("went on", flush=True)
orchestrator.cli.startup.run_services = run_services
app(["serve"])
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe that holds one page."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    yield reading, writing
    os.close(reading)
    os.close(writing)


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("test", logging.WARNING, "", 0, text, None, None)


def test_a_service_whose_log_nobody_reads_goes_on_and_ends(pipe: tuple[int, int]) -> None:
    command = [sys.executable, "-c", LOGS]
    done = subprocess.run(command, stdout=-1, stderr=pipe[1], timeout=30, check=True)
    assert done.stdout == b"went on\n"


def test_all_lines_are_written_in_their_order_before_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", LOGS], stdout=-1, stderr=-1, check=True)
    lines = done.stderr.decode().splitlines()
    assert [int(line.partition(" ")[0]) for line in lines] == [*range(1000)]


def test_lines_that_have_no_place_are_counted(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.write(writing, b"." * 4096)
    handler = BackgroundHandler(writing, max_lines=2)
    for _ in range(10):
        handler.emit(record("a line"))
    written = os.read(reading, 4096)
    emitted = 10
    while b"missing" not in written:
        handler.emit(record("a line"))
        emitted += 1
        written += os.read(reading, 4096)
    before, counted = written.decode().lstrip(".").split(" lines are missing: ")[0].rsplit("\n", 1)
    kept = before.count("a line")
    assert kept in {2, 3}  # the thread may hold one beside those that wait
    assert 10 - kept <= int(counted) < emitted - kept
    handler.close()
