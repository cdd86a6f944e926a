"""Messages to systemd, received by a socket of the test."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.cli.service_manager import SOCKET, report_ready


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    """Yield a socket that stands in for systemd's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as systemd:
        systemd.bind(address)
        yield systemd


def test_systemd_is_told_once(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as systemd:
        report_ready({SOCKET: address})
        assert systemd.recv(100) == b"READY=1"
        with pytest.raises(BlockingIOError):
            systemd.recv(100)


def test_an_abstract_socket_is_named_with_an_at_sign(tmp_path: Path) -> None:
    with listening(f"\0{tmp_path}") as systemd:
        report_ready({SOCKET: f"@{tmp_path}"})
        assert systemd.recv(100) == b"READY=1"


@pytest.mark.parametrize("environ", [{}, {SOCKET: ""}])
def test_without_systemd_nothing_is_said(environ: dict[str, str], caplog) -> None:
    with caplog.at_level(logging.DEBUG):
        report_ready(environ)
    assert caplog.messages == []


def test_a_socket_that_is_gone_is_logged(tmp_path: Path, caplog) -> None:
    report_ready({SOCKET: str(tmp_path / "gone")})
    assert caplog.messages == [
        "systemd was not told that the service is ready: No such file or directory"
    ]
