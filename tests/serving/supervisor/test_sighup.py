"""SIGHUP requests a restart of a service, and ends a program of a terminal."""

import signal

from orchestrator.serving.supervisor import sighup
from orchestrator.serving.supervisor.sighup import restart_requests


def hang_up() -> None:
    """Do what SIGHUP does, without the signal: native threads of other tests would get it, too."""
    signal.getsignal(signal.SIGHUP)(signal.SIGHUP, None)


def test_a_terminal_that_is_closed_restarts_nothing(monkeypatch, tmp_path) -> None:
    (tmp_path / "tty").touch()
    monkeypatch.setattr(sighup, "TERMINAL", tmp_path / "tty")
    before = signal.getsignal(signal.SIGHUP)
    with restart_requests() as is_requested:
        assert signal.getsignal(signal.SIGHUP) is before
        assert not is_requested()


def test_a_request_counts_once(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(sighup, "TERMINAL", tmp_path / "none")
    before = signal.getsignal(signal.SIGHUP)
    with restart_requests() as is_requested:
        assert not is_requested()
        hang_up()
        assert [is_requested(), is_requested()] == [True, False]
    assert signal.getsignal(signal.SIGHUP) is before
