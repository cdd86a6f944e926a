"""The CPU priority of a starting server, and the keys on its command line, which all may read."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.serving.supervisor.launch import triton_process
from orchestrator.serving.supervisor.launch.triton_process import (
    LOW,
    USUAL,
    can_restore_priority,
    hide,
    prepare_slow_child,
    restore_priority,
)
from tests.waiting import until


def measure_niceness(begin) -> int:
    """Return the niceness of a child that is started in this way."""
    code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
    return int(subprocess.check_output([sys.executable, "-c", code], preexec_fn=begin))


@pytest.mark.skipif(
    not can_restore_priority(), reason="wants CAP_SYS_NICE: nobody else raises a priority"
)
def test_a_child_begins_slowly_and_can_be_hurried() -> None:
    assert measure_niceness(prepare_slow_child) == LOW
    code = "import os; print(os.getpid(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=prepare_slow_child,
    ) as child:
        pid = int(child.stdout.readline())
        sessions = Path(f"/proc/{pid}/autogroup")
        shares = [sessions.exists() and sessions.read_text().split()[-1]]
        restore_priority(pid)
        shares.append(sessions.exists() and sessions.read_text().split()[-1])
        assert shares in ([str(LOW), str(USUAL)], [False, False])
        assert os.getpriority(os.PRIO_PROCESS, pid) == USUAL
        child.communicate(b"\n")


def test_a_child_that_could_not_be_hurried_begins_as_usual(monkeypatch, tmp_path) -> None:
    (tmp_path / "status").write_text("CapEff:\t0000000000000000\n")
    monkeypatch.setattr(triton_process, "STATUS", tmp_path / "status")
    assert not can_restore_priority()
    assert measure_niceness(prepare_slow_child) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_group_that_has_ended_need_not_hurry() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    restore_priority(child.pid)


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
def process() -> Iterator[subprocess.Popen[str]]:
    """A process that has read its arguments and started a thread."""
    with run(WITH_A_THREAD) as process:
        yield process


def read_arguments(process: subprocess.Popen[str]) -> list[str]:
    """Return the last arguments of a process, as other users see them."""
    return Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[3:-1]


def test_a_key_that_was_read_is_overwritten(process) -> None:
    until(lambda: KEY in " ".join(read_arguments(process)), "the key to be seen before")
    hide(process, [KEY, ""])
    first, between, last = read_arguments(process)
    assert (len(first), between, len(last)) == (18, "--between", 18)
    assert KEY not in first + last
    assert process.stdout.readline() == f"--one=a:{KEY} --between --other={KEY}\n"


def test_what_is_overwritten_with_is_no_constant() -> None:
    lines = []
    with run(WITH_A_THREAD) as first, run(WITH_A_THREAD) as second:
        hide(first, [KEY])
        hide(second, [KEY])
        lines += [read_arguments(first), read_arguments(second)]
    assert lines[0] != lines[1]


def test_a_process_that_ended_before_needs_nothing(caplog) -> None:
    with run("") as process:
        hide(process, [KEY])
    assert caplog.records == []


def test_a_kernel_that_allows_no_write_is_told(process, tmp_path, monkeypatch, caplog) -> None:
    for thread in ("1", "2"):
        (tmp_path / str(process.pid) / "task" / thread).mkdir(parents=True)
    monkeypatch.setattr(triton_process, "PROC", tmp_path)
    with caplog.at_level(logging.WARNING):
        hide(process, [KEY, ""])
    assert "can see the keys" in caplog.text
    assert KEY not in caplog.text
