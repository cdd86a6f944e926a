"""The probe, against a fake gateway."""

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from orchestrator.host import probe
from tests.client.peers import listening, receive, reply


@pytest.fixture
def answering() -> Iterator[Callable[[int], str]]:
    """Start a fake gateway whose /readyz has this status; yield its host and port."""
    with ExitStack() as stack:

        def start(status: int) -> str:
            def handle(connection: socket.socket) -> None:
                while request := receive(connection):
                    is_known = request.startswith(b"GET /readyz HTTP/")
                    connection.sendall(reply(status if is_known else 404, b"{}"))

            return stack.enter_context(listening(handle))

        yield start


def test_a_ready_service_is_well(answering, capsys) -> None:
    assert probe.main([f"{answering(200)}/readyz"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "path", "got"),
    [
        pytest.param(503, "/readyz", 503, id="no plate read lately"),
        pytest.param(200, "/other", 404, id="another service"),
        pytest.param(200, "", 404, id="no path"),
    ],
)
def test_any_other_answer_is_one_sentence(
    answering, capsys, status: int, path: str, got: int
) -> None:
    url = f"{answering(status)}{path}"
    assert probe.main([url]) == 1
    assert capsys.readouterr().err == f"probe: {url}: wanted HTTP 200, got {got}\n"


def test_nobody_listening_is_not_well(capsys) -> None:
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        assert probe.main([f"127.0.0.1:{bound.getsockname()[1]}/readyz"]) == 1
    assert "wanted an answer, got [Errno 111] Connection refused" in capsys.readouterr().err


def test_a_service_that_says_nothing_in_time_is_not_well(capsys) -> None:
    with socket.create_server(("localhost", 0)) as silent:
        url = f"localhost:{silent.getsockname()[1]}/readyz"
        assert probe.main([url, "--timeout", "0.01"]) == 1
    assert capsys.readouterr().err == f"probe: {url}: wanted an answer, got timed out\n"


def test_it_runs_as_a_file_without_the_package_or_any_other(answering) -> None:
    done = subprocess.run(
        [sys.executable, "-IS", "-X", "importtime", probe.__file__, f"{answering(200)}/readyz"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    imported = {name.strip() for name in re.findall(r"\|([^|]+)$", done.stderr, re.MULTILINE)}
    assert "http.client" in imported
    assert not imported & {"orchestrator", "numpy", "tritonclient", "site"}
