"""A server's dead workers; this test stands in for the server, whose children they are."""

import os
import signal
import subprocess

import pytest

from orchestrator.supervisor.workers import Workers, describe_exit
from tests.supervisor.worker_processes import start_worker


def run(code: str) -> subprocess.Popen:
    """Start a worker, which says a line when it runs."""
    return start_worker(f"import os; print(flush=True); {code}")


def exit_reasons(workers: Workers) -> dict[int, str]:
    return {one.pid: one.exit_reason for one in workers.dead()}


@pytest.mark.parametrize(
    ("code", "how"),
    [
        pytest.param("os._exit(3)", "exit status 3", id="exit"),
        pytest.param("os.abort()", "SIGABRT", id="signal"),
    ],
)
def test_a_worker_that_died_is_told_with_how(code: str, how: str) -> None:
    child = run(code)
    with child.stdout:
        child.stdout.read()  # to its end
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert exit_reasons(Workers(os.getpid()))[child.pid] == how
    child.wait()
    assert child.pid not in exit_reasons(Workers(os.getpid()))


def test_a_dead_worker_is_known_by_the_model_that_it_served() -> None:
    child = run("import signal; signal.pause()")
    workers = Workers(os.getpid())
    with child.stdout:
        child.stdout.readline()
        assert {one.pid: one.model for one in workers.alive()}[child.pid] == "stn"
        child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    (dead,) = (one for one in workers.dead() if one.pid == child.pid)
    assert (dead.exit_reason, dead.model) == ("SIGKILL", "stn")
    workers.forget(dead)
    assert child.pid not in exit_reasons(workers)
    child.wait()


def test_a_number_that_is_free_again_is_not_forgotten() -> None:
    child = run("os._exit(1)")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    workers = Workers(os.getpid())
    (dead,) = (one for one in workers.dead() if one.pid == child.pid)
    workers.forget(dead)
    assert child.pid not in exit_reasons(workers)
    assert not workers.is_known(dead)
    with child.stdout:
        child.wait()
    workers.alive()
    assert workers.is_known(dead)


def test_a_dead_worker_that_was_never_seen_alive_has_no_model() -> None:
    child = run("os._exit(1)")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    (dead,) = (one for one in Workers(os.getpid()).dead() if one.pid == child.pid)
    assert dead.model == ""
    with child.stdout:
        child.wait()


def test_a_stopped_worker_is_seen_to_be_stopped() -> None:
    child = run("import signal; signal.pause()")
    with child.stdout:
        child.stdout.readline()
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        states = {one.pid: one.is_stopped for one in Workers(os.getpid()).alive()}
        child.kill()
    assert states[child.pid]
    child.wait()


def test_a_server_can_be_looked_at_like_a_worker() -> None:
    (itself,) = Workers(os.getpid()).itself()
    assert (itself.pid, itself.model, itself.is_stopped) == (os.getpid(), "tritonserver", False)
    child = run("os._exit(1)")
    with child.stdout:
        child.wait()
    assert Workers(child.pid).itself() == []


def test_a_shell_that_triton_ran_is_no_worker() -> None:
    with subprocess.Popen(["sh", "-c", "exit 1"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.pid not in exit_reasons(Workers(os.getpid()))


def test_other_processes_are_no_workers() -> None:
    child = run("os._exit(1)")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.pid not in exit_reasons(Workers(os.getppid()))
    with child.stdout:
        child.wait()


@pytest.mark.parametrize(
    ("code", "reason"),
    [(0, "exit status 0"), (-signal.SIGKILL, "SIGKILL"), (-40, "signal 40")],
)
def test_the_exit_reason_is_a_signal_or_a_status(code: int, reason: str) -> None:
    assert describe_exit(code) == reason
