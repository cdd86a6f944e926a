"""Calls to this machine go past whatever proxy the environment names."""

import socket
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from orchestrator.loopback import is_loopback, open_url, without_proxy


@pytest.fixture
def url() -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"here")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


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
