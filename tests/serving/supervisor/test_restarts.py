"""Pauses between restarts, and SIGHUP, which requests a restart or ends a program of a terminal."""

import signal

from orchestrator.serving.supervisor import restarts
from orchestrator.serving.supervisor.restarts import Backoff, restart_requests
from tests.virtual_time import Clock


def test_what_never_failed_may_be_tried() -> None:
    assert Backoff(1, 8, Clock()).is_over()


def test_pauses_double_up_to_the_longest() -> None:
    clock = Clock()
    backoff = Backoff(1, 5, clock)
    assert [backoff.fail() for _ in range(4)] == [1, 2, 4, 5]
    clock.now += 4.9
    assert not backoff.is_over()
    clock.now += 0.2
    assert backoff.is_over()


def test_a_failure_long_after_the_last_begins_anew() -> None:
    clock = Clock()
    backoff = Backoff(1, 8, clock)
    assert [backoff.fail(), backoff.fail()] == [1, 2]
    clock.now += 17
    assert backoff.fail() == 1


def hang_up() -> None:
    """Do what SIGHUP does, without the signal: native threads of other tests would get it, too."""
    signal.getsignal(signal.SIGHUP)(signal.SIGHUP, None)


def test_a_terminal_that_is_closed_restarts_nothing(monkeypatch, tmp_path) -> None:
    (tmp_path / "tty").touch()
    monkeypatch.setattr(restarts, "TERMINAL", tmp_path / "tty")
    before = signal.getsignal(signal.SIGHUP)
    with restart_requests() as is_requested:
        assert signal.getsignal(signal.SIGHUP) is before
        assert not is_requested()


def test_a_request_counts_once(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(restarts, "TERMINAL", tmp_path / "none")
    before = signal.getsignal(signal.SIGHUP)
    with restart_requests() as is_requested:
        assert not is_requested()
        hang_up()
        assert [is_requested(), is_requested()] == [True, False]
    assert signal.getsignal(signal.SIGHUP) is before
