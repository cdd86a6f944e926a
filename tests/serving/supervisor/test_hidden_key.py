"""The administrators' key on a command line, which everybody may read."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.serving.supervisor import hidden_key
from orchestrator.serving.supervisor.hidden_key import hide
from tests.waiting import until

KEY = "barrier-42"
WITH_A_THREAD = """
import sys, threading
thread = threading.Thread(target=sys.stdin.read)
thread.start()
print(*sys.argv[1:], flush=True)
"""


def run(code: str) -> subprocess.Popen[str]:
    arguments = [f"--one=a:{KEY}", "--between", f"--other={KEY}"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def working() -> Iterator[subprocess.Popen[str]]:
    """A process that has read its arguments and started a thread."""
    with run(WITH_A_THREAD) as process:
        yield process


def shown(process: subprocess.Popen[str]) -> list[str]:
    """Return the last arguments as everybody sees them."""
    return Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[3:-1]


def test_a_key_that_was_read_is_overwritten(working) -> None:
    until(lambda: KEY in " ".join(shown(working)), "the key to be seen before")
    hide(working, [KEY, ""])
    one, between, other = shown(working)
    assert (len(one), between, len(other)) == (18, "--between", 18)
    assert KEY not in one + other
    assert working.stdout.readline() == f"--one=a:{KEY} --between --other={KEY}\n"


def test_what_is_overwritten_with_is_no_constant() -> None:
    lines = []
    with run(WITH_A_THREAD) as one, run(WITH_A_THREAD) as other:
        hide(one, [KEY])
        hide(other, [KEY])
        lines += [shown(one), shown(other)]
    assert lines[0] != lines[1]


def test_a_process_that_ended_before_needs_nothing(caplog) -> None:
    with run("") as process:
        hide(process, [KEY])
    assert caplog.records == []


def test_a_kernel_that_allows_no_write_is_told(working, tmp_path, monkeypatch, caplog) -> None:
    for thread in ("1", "2"):
        (tmp_path / str(working.pid) / "task" / thread).mkdir(parents=True)
    monkeypatch.setattr(hidden_key, "PROC", tmp_path)
    with caplog.at_level(logging.WARNING):
        hide(working, [KEY, ""])
    assert "can see the keys" in caplog.text
    assert KEY not in caplog.text
