"""A server that starts beside another one leaves it the cores, where it can have them back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.serving.supervisor import cpu_priority
from orchestrator.serving.supervisor.cpu_priority import (
    LOW,
    USUAL,
    can_restore_priority,
    prepare_slow_child,
    restore_priority,
)


def niceness(begin) -> int:
    """Return that of a child that begins so."""
    code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
    return int(subprocess.check_output([sys.executable, "-c", code], preexec_fn=begin))


@pytest.mark.skipif(
    not can_restore_priority(), reason="wants CAP_SYS_NICE: nobody else raises a priority"
)
def test_a_child_begins_slowly_and_can_be_hurried() -> None:
    assert niceness(prepare_slow_child) == LOW
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
    monkeypatch.setattr(cpu_priority, "STATUS", tmp_path / "status")
    assert not can_restore_priority()
    assert niceness(prepare_slow_child) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_group_that_has_ended_need_not_hurry() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    restore_priority(child.pid)
