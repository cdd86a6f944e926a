"""A server's dead workers; here they are children of the test in place of the server."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.serving.supervisor.monitoring import workers as workers_module
from orchestrator.serving.supervisor.monitoring.workers import Worker, Workers, describe_exit
from tests.serving.supervisor.monitoring.worker_processes import start_worker


@contextmanager
def run(code: str) -> Iterator[subprocess.Popen]:
    """Start a worker, which says a line when it runs; it is reaped at the end of the block."""
    with start_worker(f"import os; print(flush=True); {code}") as child:
        child.stdout.readline()
        try:
            yield child
        finally:
            child.kill()


def wait_for_end(child: subprocess.Popen) -> None:
    """Return when a child has ended; it is not reaped."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def find(workers: Workers, child: subprocess.Popen) -> Worker | None:
    """Return a dead worker."""
    return next((worker for worker in workers.dead() if worker.pid == child.pid), None)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param("os._exit(3)", "exit status 3", id="exit"),
        pytest.param("os.abort()", "SIGABRT", id="signal"),
    ],
)
def test_a_worker_that_died_has_an_exit_reason(code: str, reason: str) -> None:
    with run(code) as child:
        wait_for_end(child)
        dead = find(Workers(os.getpid()), child)
        assert (dead.exit_reason, dead.model) == (reason, "")  # it was never seen alive
        assert find(Workers(os.getppid()), child) is None  # it is no child of that server
    assert find(Workers(os.getpid()), child) is None


def test_a_dead_worker_is_known_by_the_model_that_it_served_until_it_is_forgotten() -> None:
    with run("import signal; signal.pause()") as child:
        workers = Workers(os.getpid())
        assert {worker.pid: worker.model for worker in workers.alive()}[child.pid] == "stn"
        child.kill()
        wait_for_end(child)
        dead_worker = find(workers, child)
        assert (dead_worker.exit_reason, dead_worker.model) == ("SIGKILL", "stn")
        workers.forget(dead_worker)
        assert find(workers, child) is None
        assert not workers.is_known(dead_worker)
    workers.alive()
    assert workers.is_known(dead_worker)  # another process may have its number now


def test_a_worker_that_a_list_of_children_leaves_out_keeps_its_model_and_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's list may lack some children while others end."""
    with run("import signal; signal.pause()") as child:
        for process in ("self", str(child.pid)):
            (tmp_path / process).symlink_to(f"/proc/{process}")
        child_list = tmp_path / str(os.getpid()) / "task" / "1" / "children"
        child_list.parent.mkdir(parents=True)
        monkeypatch.setattr(workers_module, "PROC", tmp_path)
        workers, models = Workers(os.getpid()), []
        for children in (f"{child.pid} ", "", f"{child.pid} "):
            child_list.write_text(children)
            models.append([worker.model for worker in workers.alive()])
        assert models == [["stn"]] * 3
        child.kill()
        wait_for_end(child)
        for children in (f"{child.pid} ", "", f"{child.pid} "):
            child_list.write_text(children)
            models.append([(worker.model, workers.forget(worker))[0] for worker in workers.dead()])
    assert models[3:] == [["stn"], [], []]


def test_a_stopped_worker_is_seen_to_be_stopped() -> None:
    with run("import signal; signal.pause()") as child:
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        states = {worker.pid: worker.is_stopped for worker in Workers(os.getpid()).alive()}
        child.kill()
    assert states[child.pid]


def test_a_server_can_be_looked_at_like_a_worker() -> None:
    (itself,) = Workers(os.getpid()).itself()
    assert (itself.pid, itself.model, itself.is_stopped) == (os.getpid(), "tritonserver", False)
    with run("os._exit(1)") as child:
        pass
    assert Workers(child.pid).itself() == []


def test_a_shell_that_triton_ran_is_no_worker() -> None:
    with subprocess.Popen(["sh", "-c", "exit 1"]) as child:
        wait_for_end(child)
        assert find(Workers(os.getpid()), child) is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [(0, "exit status 0"), (-signal.SIGKILL, "SIGKILL"), (-40, "signal 40")],
)
def test_the_exit_reason_is_a_signal_or_a_status(code: int, reason: str) -> None:
    assert describe_exit(code) == reason
