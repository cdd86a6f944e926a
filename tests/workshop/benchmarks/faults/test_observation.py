"""A service that is watched while faults are made, and workers killed at random."""

import itertools
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from workshop.benchmarks.faults import observation
from workshop.benchmarks.faults.observation import Fault, Target, is_steady, observe
from workshop.benchmarks.faults.report import Effect, Promise
from workshop.benchmarks.faults.signals import Killer
from workshop.benchmarks.load.closed_loop import Call, Load, Outcome, Send
from workshop.benchmarks.processes import Processes


class RecoveringService:
    """A service that has recovered after a number of checks, and may end."""

    def __init__(self, looks: int, *, is_up: bool = True) -> None:
        self.looks, self.is_up = itertools.count(-looks), is_up

    def is_running(self) -> bool:
        return self.is_up

    def is_whole(self, victims: Iterable[int]) -> bool:
        return next(self.looks) >= 0


@contextmanager
def connect() -> Iterator[Send]:
    """Open a caller that is answered at once."""

    def send(number: int) -> Outcome:
        time.sleep(0.001)
        return Outcome()

    yield send


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("BEFORE_S", 0.05), ("QUIET_S", 0.05), ("LOOK_S", 0.01)):
        monkeypatch.setattr(observation, name, seconds)


def load() -> Load:
    return Load({"http": connect}, each=2)


def fault(effect: Effect | None = None) -> Fault:
    def act(target: Target) -> Effect:
        return effect or Effect(time.monotonic(), frozenset({1}))

    return Fault("one", "One", "plain", Promise(recover_s=1.0), act)


def test_a_service_is_watched_until_it_is_whole_and_callers_are_served() -> None:
    observation = observe(fault(), RecoveringService(looks=3), load())
    assert observation.fault == "One"
    assert observation.callers == 2
    assert (
        observation.load_began < observation.began <= observation.effect.since < observation.whole
    )
    assert max(call.began for call in observation.calls) > observation.whole


def test_a_service_that_is_never_whole_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "PATIENCE_S", -0.9)
    assert observe(fault(), RecoveringService(looks=10**9), load()).whole is None
    assert observe(fault(), RecoveringService(looks=0, is_up=False), load()).whole is None


def test_an_end_that_was_asked_for_is_not_watched() -> None:
    service = RecoveringService(looks=0)
    assert observe(fault(Effect(0.0, is_end=True)), service, load()).whole is None
    assert next(service.looks) == 0  # nobody looked


def test_a_load_is_steady_when_every_caller_was_answered_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observation, "QUIET_S", 1.0)
    now = time.monotonic()
    http, grpc = (Call(protocol, 0, now - 60, now + 60) for protocol in ("http", "grpc"))
    failed_call = Call("http", 0, now - 60, now + 60, "503")

    def of(*calls: Call) -> Load:
        return Load({"http": connect, "grpc": connect}, calls=[*calls])

    assert is_steady(of(http, grpc), now - 100)
    assert not is_steady(of(http), now - 100)
    assert not is_steady(of(http, grpc, failed_call), now - 100)
    assert not is_steady(of(http, grpc), now + 50)
    assert not is_steady(of(http, grpc), now - 50)  # they were sent before


class OneWorker:
    """A service with one worker, which nobody replaces."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def processes(self) -> Processes:
        return Processes({"stn": frozenset({self.pid})})

    def is_ready(self) -> bool:
        return True

    def is_whole(self, victims: Iterable[int]) -> bool:
        return self.pid not in set(victims)


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as child:
        yield child
        child.kill()


def test_the_first_is_killed_at_once_and_the_next_when_it_is_replaced(worker) -> None:
    killer = Killer(OneWorker(worker.pid), pause_s=0.001)
    with killer.run():
        assert worker.wait(60) == -signal.SIGKILL
    assert killer.kills == [("stn", worker.pid)]
    killer.kill()  # it has ended
    assert len(killer.kills) == 1
