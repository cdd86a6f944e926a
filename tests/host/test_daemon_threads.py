"""Threads that hang: their number is limited, and the process does not wait for them."""

import subprocess
import sys
import threading

import pytest

from orchestrator.host import daemon_threads
from orchestrator.host.daemon_threads import DaemonThreads
from tests.waiting import until


def count(name: str) -> int:
    return sum(one.name == name for one in threading.enumerate())


def test_results_and_errors_come_back() -> None:
    threads = DaemonThreads(1, "some")
    assert threads.submit(pow, 2, 3).result(20) == 8
    with pytest.raises(SystemExit):
        threads.submit(sys.exit, 3).result(20)
    assert threads.submit(int, "ff", base=16).result(20) == 255


def test_calls_run_at_the_same_time_but_only_so_many() -> None:
    threads, meeting, over = DaemonThreads(2, "two"), threading.Barrier(3), threading.Event()

    def meet() -> bool:
        meeting.wait(20)
        return over.wait(20)

    pair = [threads.submit(meet) for _ in range(2)]
    meeting.wait(20)
    third = threads.submit(over.is_set)
    assert (count("two"), third.running()) == (2, False)
    over.set()
    assert [one.result(20) for one in (*pair, third)] == [True, True, True]


def test_a_call_that_is_cancelled_while_it_waits_does_not_run() -> None:
    threads, over, calls = DaemonThreads(1, "one"), threading.Event(), list[int]()
    first = threads.submit(over.wait, 20)
    until(first.running, "a call that runs")
    second, third = threads.submit(calls.append, 2), threads.submit(calls.append, 3)
    assert second.cancel()
    over.set()
    third.result(20)
    assert calls == [3]


def test_idle_threads_end_and_new_calls_start_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_threads, "IDLE_S", 0.01)
    threads = DaemonThreads(1, "idle")
    threads.submit(int).result(20)
    until(lambda: not count("idle"), "no thread")
    assert threads.submit(int).result(20) == 0


def test_the_end_of_the_process_does_not_wait() -> None:
    program = (
        "import threading\n"
        "from orchestrator.host.daemon_threads import DaemonThreads\n"
        "with DaemonThreads(1, 'hangs') as threads:\n"
        "    threads.submit(threading.Event().wait)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
