"""Threads that hang, coroutines in threads, and calls that are tried again."""

import asyncio
import subprocess
import sys
import threading

import pytest

from orchestrator.errors import (
    ModelError,
    Overloaded,
    PlateError,
    RequestError,
    ServerError,
    SettingsError,
)
from orchestrator.host import daemon_threads
from orchestrator.host.blocking import run_blocking, settle
from orchestrator.host.daemon_threads import DaemonThreads
from orchestrator.host.retry import Retries, exponential_s
from tests.waiting import until


def count(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


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
    assert [future.result(20) for future in (*pair, third)] == [True, True, True]


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


async def double(value: object) -> object:
    return 2 * await settle(value)


def test_a_coroutine_runs_in_a_thread_and_in_an_event_loop() -> None:
    async def run_beside_a_loop() -> object:
        return run_blocking(double(21))

    assert run_blocking(double(21)) == 42
    assert asyncio.run(double(asyncio.sleep(0, result=21))) == 42
    assert asyncio.run(run_beside_a_loop()) == 42


def test_its_error_is_the_callers() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        run_blocking(fail())


def test_a_coroutine_that_waits_for_an_event_loop_is_an_error() -> None:
    with pytest.raises(TypeError, match="wanted functions that block, got one of asyncio"):
        run_blocking(double(asyncio.sleep(0, result=21)))


class ScriptedCall:
    """Returns the next entry of a script, or raises it if it is an error."""

    def __init__(self, *script: str | PlateError) -> None:
        self.script = list(script)

    def __call__(self) -> str:
        line = self.script.pop(0)
        if isinstance(line, PlateError):
            raise line
        return line


@pytest.fixture
def errors() -> list[str]:
    return []


def retries(times: int, pauses: list[float] | None = None) -> Retries:
    return Retries(times, sleep=(pauses if pauses is not None else []).append)


def test_an_answer_is_not_asked_for_twice(errors) -> None:
    assert retries(3).call(ScriptedCall("answer"), errors.append) == "answer"
    assert errors == []


@pytest.mark.parametrize("error", [ServerError("gone"), Overloaded("full")])
def test_a_call_that_met_no_capacity_is_sent_again(errors, error: PlateError) -> None:
    assert retries(2).call(ScriptedCall(error, error, "answer"), errors.append) == "answer"
    assert errors == [error, error]


def test_the_last_error_is_the_callers(errors) -> None:
    with pytest.raises(Overloaded, match="full"):
        retries(1).call(
            ScriptedCall(ServerError("gone"), Overloaded("full"), "late"), errors.append
        )
    assert len(errors) == 1


@pytest.mark.parametrize("error", [RequestError("no picture"), ModelError("broken")])
def test_an_error_that_would_come_again_is_not_tried_again(errors, error: PlateError) -> None:
    with pytest.raises(type(error)):
        retries(5).call(ScriptedCall(error, "answer"), errors.append)
    assert errors == []


def test_pauses_double_up_to_the_limit(errors) -> None:
    pauses: list[float] = []
    script = ScriptedCall(*[ServerError("gone")] * 7, "answer")
    Retries(7, first_s=1, longest_s=8, sleep=pauses.append).call(script, errors.append)
    longest_pauses = [1, 2, 4, 8, 8, 8, 8]
    assert all(
        longest_pause / 2 <= pause <= longest_pause
        for pause, longest_pause in zip(pauses, longest_pauses, strict=True)
    )


@pytest.mark.parametrize("times", [-1, 1.5, float("nan"), "3", None, True])
def test_only_a_whole_number_of_retries_is_taken(times) -> None:
    with pytest.raises(SettingsError, match="retries: wanted a whole number from 0, got"):
        Retries(times)


@pytest.mark.parametrize(
    ("retry", "pause_s"),
    [(0, 0.02), (1, 0.04), (3, 0.16), (4, 0.2), pytest.param(10_000, 0.2, id="no overflow")],
)
def test_pauses_double_up_to_the_longest(retry: int, pause_s: float) -> None:
    assert exponential_s(retry, 0.02, 0.2) == pytest.approx(pause_s)
