"""Services start in order, start again with pauses or on SIGHUP, and stop in reverse order."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from orchestrator.errors import ServerError
from orchestrator.host.retry import Backoff
from orchestrator.host.subprocesses import STOP_SIGNALS, defer_stops
from orchestrator.serving.supervisor import service_loop
from orchestrator.serving.supervisor.service_loop import (
    ServiceSpec,
    restart_requests,
    supervise,
)
from tests.child_python import run_python
from tests.virtual_time import Clock

UNEXPECTED = FileNotFoundError("no such folder")
Outcome = bool | BaseException


def play(script: list[Outcome]) -> bool:
    """Return or raise the next outcome of a script; True when there is none left."""
    outcome = script.pop(0) if script else True
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


@dataclass
class FakeDaemon:
    """A service that notes its events.

    Attributes:
        events: Its starts and stops are added to this list.
        starts, stops: Outcomes of its starts and stops, in order; then all succeed.
        checks: Results of `monitor`, in order; then it is always well.
    """

    name: str
    events: list[str]
    starts: list[Outcome] = field(default_factory=list)
    checks: list[Outcome] = field(default_factory=list)
    stops: list[Outcome] = field(default_factory=list)

    @property
    def spec(self) -> ServiceSpec:
        return ServiceSpec(self.name, self.start)

    def start(self) -> "FakeDaemon":
        self.events.append(f"start {self.name}")
        play(self.starts)
        return self

    def monitor(self) -> bool:
        return play(self.checks)

    def stop(self, timeout_s: float = 20.0) -> None:
        self.events.append(f"stop {self.name} {timeout_s:.0f}")
        play(self.stops)


def run(*specs: ServiceSpec, checks: int = 2, on_ready: Callable[[], None] = lambda: None) -> None:
    """Supervise services for a number of checks, and interrupt then."""
    remaining_checks = iter(range(checks))

    def sleep(_seconds: float) -> None:
        if next(remaining_checks, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        supervise(specs, on_ready, sleep)


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """Pauses between the retries of a start; nothing waits for them here."""
    pauses_s: list[float] = []
    retries = replace(service_loop.START_RETRIES, sleep=pauses_s.append)
    monkeypatch.setattr(service_loop, "START_RETRIES", retries)
    return pauses_s


def test_services_are_stopped_in_reverse_order(events) -> None:
    first, second = FakeDaemon("a", events), FakeDaemon("b", events)
    run(first.spec, second.spec, on_ready=lambda: events.append("ready"))
    assert events == ["start a", "start b", "ready", "stop b 20", "stop a 20"]


def test_only_the_one_that_died_is_started_again(events) -> None:
    first, second = FakeDaemon("a", events), FakeDaemon("b", events, checks=[False])
    run(first.spec, second.spec)
    assert events == ["start a", "start b", "stop b 1", "start b", "stop b 20", "stop a 20"]


def test_those_that_run_are_stopped_when_another_cannot_be_started(events) -> None:
    first, second = FakeDaemon("a", events), FakeDaemon("b", events, [ServerError("no port")])
    with pytest.raises(ServerError, match="no port"):
        supervise([first.spec, second.spec])
    assert events == ["start a", "start b", "stop a 20"]


def test_a_start_that_fails_is_tried_again(events, pauses) -> None:
    starts = [True, ServerError("no memory"), ServerError("no port")]
    run(FakeDaemon("a", events, starts, checks=[False]).spec)
    assert events == ["start a", "stop a 1", *["start a"] * 3, "stop a 20"]
    assert len(pauses) == 2


def test_a_service_that_never_starts_again_is_given_up(events, pauses) -> None:
    service = FakeDaemon("a", events, [True, *[ServerError("no disk")] * 6], checks=[False])
    with pytest.raises(ServerError, match="no disk"):
        supervise([service.spec], sleep=lambda _seconds: None)
    assert len(pauses) == 5


@pytest.fixture
def no_error_pauses(monkeypatch) -> None:
    monkeypatch.setattr(service_loop, "ERROR_PAUSES_S", (0.0, 0.0))


@pytest.mark.usefixtures("no_error_pauses")
@pytest.mark.parametrize("failed_starts", [0, 1, 9])
def test_an_unexpected_error_of_one_service_is_its_own_failure(
    events, caplog, failed_starts: int
) -> None:
    events_of_other: list[str] = []
    faulty = FakeDaemon("a", events, [True, *[UNEXPECTED] * failed_starts], checks=[UNEXPECTED])
    run(faulty.spec, FakeDaemon("b", events_of_other).spec, checks=20)
    assert events == ["start a", "stop a 1", *["start a"] * (failed_starts + 1), "stop a 20"]
    assert events_of_other == ["start b", "stop b 20"]
    assert "a failed unexpectedly; starting again in 0 s" in caplog.text
    assert "FileNotFoundError: no such folder" in caplog.text


def test_a_service_that_failed_unexpectedly_is_started_again_after_a_pause(events) -> None:
    run(FakeDaemon("a", events, checks=[UNEXPECTED]).spec, checks=20)
    assert events == ["start a", "stop a 1"]


@pytest.mark.usefixtures("no_error_pauses")
def test_a_service_that_cannot_be_stopped_is_started_again_all_the_same(events) -> None:
    events_of_other: list[str] = []
    faulty = FakeDaemon("a", events, checks=[UNEXPECTED], stops=[OSError("no such process")])
    run(FakeDaemon("b", events_of_other).spec, faulty.spec)
    assert events == ["start a", "stop a 1", "start a", "stop a 20"]
    assert events_of_other == ["start b", "stop b 20"]


def test_an_interrupt_during_a_check_stops_everything(events) -> None:
    run(FakeDaemon("a", events, checks=[KeyboardInterrupt()]).spec)
    assert events == ["start a", "stop a 20"]


def tell_stops(number: int, *, dies: bool) -> None:
    """Print what becomes of two services if a signal comes while the second is stopped."""
    events: list[str] = []

    class Stopped(FakeDaemon):
        def stop(self, timeout_s: float = 20.0) -> None:
            with defer_stops():
                signal.raise_signal(number)
                super().stop(timeout_s)

    signal.signal(number, signal.default_int_handler)
    run(FakeDaemon("a", events).spec, Stopped("b", events, checks=[not dies]).spec, checks=1)
    assert signal.getsignal(number) is signal.default_int_handler
    sys.stdout.write(", ".join(events))


@pytest.mark.parametrize(
    ("number", "dies"),
    [(signal.SIGTERM, True), (signal.SIGINT, True), *((number, False) for number in STOP_SIGNALS)],
)
def test_a_signal_while_a_service_is_stopped_ends_all_after_that(number: int, dies: bool) -> None:
    """In a process of its own: a library may have handlers of signals in this one."""
    story = f"from {__name__} import tell_stops; tell_stops({int(number)}, dies={dies})"
    result = run_python(story, check=False)
    expected_events = f"start a, start b, stop b {1 if dies else 20}, stop a 20"
    assert result.stdout == expected_events, result.stderr


def test_pauses_double_up_to_the_longest_and_begin_anew_long_after_the_last() -> None:
    clock = Clock()
    backoff = Backoff(1, 5, clock)
    assert backoff.is_over()
    assert [backoff.fail() for _ in range(4)] == [1, 2, 4, 5]
    clock.now_s += 4.9
    assert not backoff.is_over()
    clock.now_s += 0.2
    assert backoff.is_over()
    clock.now_s += 17
    assert backoff.fail() == 1


def hang_up() -> None:
    """Do what SIGHUP does, without the signal: native threads of other tests would get it, too."""
    signal.getsignal(signal.SIGHUP)(signal.SIGHUP, None)


def test_a_terminal_that_is_closed_restarts_nothing(monkeypatch, tmp_path) -> None:
    (tmp_path / "tty").touch()
    monkeypatch.setattr(service_loop, "TERMINAL", tmp_path / "tty")
    before = signal.getsignal(signal.SIGHUP)
    with restart_requests() as is_requested:
        assert signal.getsignal(signal.SIGHUP) is before
        assert not is_requested()


def test_a_request_counts_once() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with restart_requests() as is_requested:
        assert not is_requested()
        hang_up()
        assert [is_requested(), is_requested()] == [True, False]
    assert signal.getsignal(signal.SIGHUP) is before


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch, tmp_path) -> None:
    """Be a process without a terminal, as a service is."""
    monkeypatch.setattr(service_loop, "TERMINAL", tmp_path / "none")


@pytest.fixture
def spec(events: list[str]) -> ServiceSpec:
    """The service `a`, whose successor is `a2`."""

    def restart(old: FakeDaemon, monitor_others: Callable[[], None]) -> FakeDaemon:
        events.append(f"restart {old.name}")
        monitor_others()
        return FakeDaemon("a2", events)

    return ServiceSpec("a", FakeDaemon("a", events).start, restart)


@pytest.fixture
def worn_spec(events: list[str]) -> ServiceSpec:
    """A service that needs a restart, and whose successors cannot be started."""

    def restart(old: FakeDaemon, _monitor_others: Callable[[], None]) -> FakeDaemon:
        events.append("restart")
        return old

    return ServiceSpec("a", FakeDaemon("a", events).start, restart, lambda _service: True)


def test_a_service_that_can_be_is_restarted_on_request(spec, events) -> None:
    run(spec, FakeDaemon("b", events).spec, on_ready=hang_up)
    assert events == ["start a", "start b", "restart a", "stop b 20", "stop a2 20"]


def test_the_others_are_monitored_while_one_is_restarted(spec, events) -> None:
    run(spec, FakeDaemon("b", events, checks=[False]).spec, on_ready=hang_up)
    assert events[2:5] == ["restart a", "stop b 1", "start b"]


def test_a_service_that_needs_it_is_restarted_without_a_request(spec, events) -> None:
    run(replace(spec, needs_restart=lambda service: service.name == "a"))
    assert events == ["start a", "restart a", "stop a2 20"]


def test_after_a_failed_restart_comes_a_pause(worn_spec, events, caplog) -> None:
    run(worn_spec, checks=20)
    assert events.count("restart") == 1
    assert "a was not restarted; the next try is in 60 s, or at the next SIGHUP" in caplog.messages


def test_after_the_pause_it_is_tried_again(worn_spec, events, monkeypatch) -> None:
    monkeypatch.setattr(service_loop, "RESTART_PAUSES_S", (0.0, 0.0))
    run(worn_spec, checks=3)
    assert events.count("restart") == 3


def test_a_request_does_not_wait_for_the_pause(worn_spec, events) -> None:
    class Requesting(FakeDaemon):
        def monitor(self) -> bool:
            if events.count("restart") == 1:
                hang_up()
            return True

    run(worn_spec, Requesting("b", events).spec, checks=3)
    assert events.count("restart") == 2


def test_a_restart_that_fails_unexpectedly_ends_nothing(events, caplog) -> None:
    spec = ServiceSpec("a", FakeDaemon("a", events).start, lambda *_: play([UNEXPECTED]))
    run(spec, checks=3, on_ready=hang_up)
    assert events == ["start a", "stop a 20"]
    assert "a could not be restarted" in caplog.text
    assert "FileNotFoundError: no such folder" in caplog.text
