"""Calls to loopback ignore the proxies of the environment."""

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from orchestrator.host.loopback import is_loopback, open_url, without_proxy
from tests.client.peers import listening, receive, reply


@pytest.fixture
def url() -> Iterator[str]:
    def answer(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(reply(200, b"here"))

    with listening(answer) as address:
        yield f"http://{address}/"


@pytest.fixture
def _proxy_that_refuses(monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, dead)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_proxy_that_refuses")
def test_a_url_is_opened_past_the_proxy(url: str) -> None:
    with pytest.raises(OSError, match="refused"):
        urllib.request.build_opener().open(url, timeout=5)  # urlopen keeps the first one it made
    with open_url(url, timeout_s=5) as answer:
        assert answer.read() == b"here"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", False),
        ("http://localhost:4318/v1", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:4318", True),
        ("http://localhost.example/127.0.0.1", False),
    ],
)
def test_a_url_of_this_machine_is_known(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, "localhost,::1,127.0.0.1", id="unset"),
        pytest.param({"NO_PROXY": "corp"}, "corp,localhost,::1,127.0.0.1", id="upper"),
        pytest.param({"no_proxy": "corp"}, "corp,localhost,::1,127.0.0.1", id="lower"),
        pytest.param(
            {"no_proxy": "a", "NO_PROXY": "b"}, "a,localhost,::1,127.0.0.1", id="lower-first"
        ),
        pytest.param({"NO_PROXY": "*"}, "*", id="all"),
    ],
)
def test_loopback_is_added_to_who_needs_no_proxy(given: dict[str, str], expected: str) -> None:
    assert without_proxy(given) == {"no_proxy": expected, "NO_PROXY": expected}
