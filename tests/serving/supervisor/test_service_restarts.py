"""A service that runs is restarted on SIGHUP, or when it needs that."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.serving.supervisor import service_loop
from orchestrator.serving.supervisor.service_loop import ServiceSpec
from tests.serving.supervisor.test_service_loop import UNEXPECTED, Fake, hang_up, run


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch, tmp_path) -> None:
    """Be a process without a terminal, as a service is."""
    monkeypatch.setattr(service_loop, "TERMINAL", tmp_path / "none")


@pytest.fixture
def spec(events: list[str]) -> ServiceSpec:
    """The service `a`, whose successor is `a2`."""

    def restart(old: Fake, monitor_others: Callable[[], None]) -> Fake:
        events.append(f"restart {old.name}")
        monitor_others()
        return Fake("a2", events)

    return ServiceSpec("a", Fake("a", events).start, restart)


@pytest.fixture
def worn(events: list[str]) -> ServiceSpec:
    """A service that needs a restart, and whose successors cannot be started."""

    def restart(old: Fake, _monitor_others: Callable[[], None]) -> Fake:
        events.append("restart")
        return old

    return ServiceSpec("a", Fake("a", events).start, restart, lambda _service: True)


def test_a_service_that_can_be_is_restarted_on_request(spec, events) -> None:
    run(spec, Fake("b", events).spec, on_ready=hang_up)
    assert events == ["start a", "start b", "restart a", "stop b 20", "stop a2 20"]


def test_the_others_are_monitored_while_one_is_restarted(spec, events) -> None:
    run(spec, Fake("b", events, checks=[False]).spec, on_ready=hang_up)
    assert events[2:5] == ["restart a", "stop b 1", "start b"]


def test_a_service_that_needs_it_is_restarted_without_a_request(spec, events) -> None:
    run(replace(spec, needs_restart=lambda service: service.name == "a"))
    assert events == ["start a", "restart a", "stop a2 20"]


def test_after_a_failed_restart_comes_a_pause(worn, events, caplog) -> None:
    run(worn, checks=20)
    assert events.count("restart") == 1
    assert "a was not restarted; the next try is in 60 s, or at the next SIGHUP" in caplog.messages


def test_after_the_pause_it_is_tried_again(worn, events, monkeypatch) -> None:
    monkeypatch.setattr(service_loop, "RESTART_PAUSES_S", (0.0, 0.0))
    run(worn, checks=3)
    assert events.count("restart") == 3


def test_a_request_does_not_wait_for_the_pause(worn, events) -> None:
    class Requesting(Fake):
        def monitor(self) -> bool:
            if events.count("restart") == 1:
                hang_up()
            return True

    run(worn, Requesting("b", events).spec, checks=3)
    assert events.count("restart") == 2


def test_a_restart_that_fails_unexpectedly_ends_nothing(events, caplog) -> None:
    def restart(_old: Fake, _monitor_others: Callable[[], None]) -> Fake:
        raise UNEXPECTED

    run(ServiceSpec("a", Fake("a", events).start, restart), checks=3, on_ready=hang_up)
    assert events == ["start a", "stop a 20"]
    assert "a could not be restarted" in caplog.text
    assert "FileNotFoundError: no such folder" in caplog.text
