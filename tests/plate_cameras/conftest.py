"""Fixtures of the cameras' tests."""

import socket

import pytest


@pytest.fixture
def free_port() -> int:
    """A TCP port of loopback on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
