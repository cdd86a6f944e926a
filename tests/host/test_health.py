"""The probe of a service, and the picture that it reads."""

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import cv2
import numpy as np
import pytest

from orchestrator.host import probe
from orchestrator.host.canary import has_canary, read_canary
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.headers import check_file
from orchestrator.networks.weights import WEIGHTS
from tests.client.peers import listening, receive, reply
from workshop.rendering.scenery import scene


@pytest.fixture
def start_gateway() -> Iterator[Callable[[int], str]]:
    """Start a fake gateway whose /readyz has this status; yield its host and port."""
    with ExitStack() as stack:

        def start(status: int) -> str:
            def handle(connection: socket.socket) -> None:
                while request := receive(connection):
                    is_known = request.startswith(b"GET /readyz HTTP/")
                    connection.sendall(reply(status if is_known else 404, b"{}"))

            return stack.enter_context(listening(handle))

        yield start


def test_a_ready_service_is_well(start_gateway, capsys) -> None:
    assert probe.main([f"{start_gateway(200)}/readyz"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "path", "answer_status"),
    [
        pytest.param(503, "/readyz", 503, id="no plate read lately"),
        pytest.param(200, "/other", 404, id="another service"),
        pytest.param(200, "", 404, id="no path"),
    ],
)
def test_any_other_answer_is_one_sentence(
    start_gateway, capsys, status: int, path: str, answer_status: int
) -> None:
    url = f"{start_gateway(status)}{path}"
    assert probe.main([url]) == 1
    assert capsys.readouterr().err == f"probe: {url}: wanted HTTP 200, got {answer_status}\n"


def test_nobody_listening_is_not_well(capsys) -> None:
    with socket.socket() as sock:  # and not listening
        sock.bind(("127.0.0.1", 0))
        assert probe.main([f"127.0.0.1:{sock.getsockname()[1]}/readyz"]) == 1
    assert "wanted an answer, got [Errno 111] Connection refused" in capsys.readouterr().err


def test_a_service_that_says_nothing_in_time_is_not_well(capsys) -> None:
    with socket.create_server(("localhost", 0)) as listener:
        url = f"localhost:{listener.getsockname()[1]}/readyz"
        assert probe.main([url, "--timeout", "0.01"]) == 1
    assert capsys.readouterr().err == f"probe: {url}: wanted an answer, got timed out\n"


@pytest.mark.parametrize("timeout", ["nan", "inf", "-1", "0", "1e300", "soon"])
def test_a_timeout_that_is_none_is_told(capsys: pytest.CaptureFixture[str], timeout: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        probe.main([f"--timeout={timeout}"])
    assert "--timeout: wanted seconds above 0 and up to 3600, got" in capsys.readouterr().err


def test_it_runs_as_a_file_without_the_package_or_any_other(start_gateway) -> None:
    process = subprocess.run(
        [sys.executable, "-IS", "-X", "importtime", probe.__file__, f"{start_gateway(200)}/readyz"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    modules = {name.strip() for name in re.findall(r"\|([^|]+)$", process.stderr, re.MULTILINE)}
    assert "http.client" in modules
    assert not modules & {"orchestrator", "numpy", "tritonclient", "site"}


def test_that_of_the_project_is_small_and_what_the_generator_draws() -> None:
    assert has_canary(WEIGHTS)
    canary = read_canary(WEIGHTS)
    assert canary.text == "A123BC77"
    drawing = scene([canary.text], (320, 128), seed=3).picture
    stored_picture = cv2.imdecode(np.frombuffer(canary.file, np.uint8), cv2.IMREAD_COLOR)
    assert len(canary.file) < 6000
    assert stored_picture.shape == drawing.shape
    difference = np.abs(stored_picture.astype(int) - drawing.astype(int)).mean()
    assert difference < 4  # JPEG of quality 70


def test_without_its_text_a_picture_is_none(tmp_path) -> None:
    (tmp_path / "canary.jpg").write_bytes(b"a picture")
    assert not has_canary(tmp_path)
    assert read_canary(tmp_path) == read_canary(None)


def test_where_there_is_none_a_grey_picture_is_sent_and_nothing_need_be_read() -> None:
    canary = read_canary(None)
    assert canary.text == ""
    assert decode(canary.file).unique().tolist() == [128]
    header = check_file(canary.file, 64 * 64)
    assert (header.width, header.height) == (64, 64)
