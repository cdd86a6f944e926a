"""The probe against a stand-in for the server: what it sends, and what each answer means."""

import http.client
import json
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator import probe
from orchestrator.contract import PROBE as PROBE_ID
from rendering.scenery import scene
from tests.client.peers import listening, parse, receive, said

PROBE = Path(probe.__file__)
RIGHT = {"outputs": [{"name": "texts", "datatype": "BYTES", "shape": [1, 1], "data": ["A123BC77"]}]}
WRONG = {"outputs": [{"name": "texts", "datatype": "BYTES", "shape": [1, 1], "data": ["A123BC71"]}]}
NO_PLATE = {"outputs": [{"name": "texts", "datatype": "BYTES", "shape": [0, 1], "data": []}]}
FULL = {"error": "[request id: probe] Exceeds maximum queue size"}
DEAD = {"error": "lprnet: Stub process 'lprnet_0_0'\nis not healthy."}


@dataclass
class Stub:
    """A server that says the same to every infer call, and whether its model is ready."""

    url: str = ""
    calls: list[bytes] = field(default_factory=list)


@pytest.fixture
def answering() -> Iterator[Callable[..., Stub]]:
    """Start a stand-in that gives this status and body."""
    with ExitStack() as stack:

        def start(status: int, body: object, ready: int = 200) -> Stub:
            stub = Stub()
            encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
            answers = {
                b"POST /v2/models/plate_recognition/infer": said(status, encoded),
                b"GET /v2/models/plate_recognition/ready": said(ready, b""),
            }

            def handle(connection: socket.socket) -> None:
                while request := receive(connection):
                    stub.calls.append(request)
                    called = request.partition(b" HTTP/")[0]
                    connection.sendall(answers.get(called, said(404, b"")))

            stub.url = stack.enter_context(listening(handle))
            return stub

        yield start


def test_the_right_text_is_alive(answering, capsys) -> None:
    stub = answering(200, RIGHT)
    assert probe.main(["--url", stub.url]) == 0
    assert capsys.readouterr().out == f"probe: {stub.url}: read A123BC77\n"


def test_a_full_server_is_alive(answering, capsys) -> None:
    stub = answering(503, FULL)
    assert probe.main(["--url", stub.url]) == 0
    assert "full, but alive" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "body", "ready", "sentence"),
    [
        pytest.param(200, WRONG, 200, "wanted A123BC77, got A123BC71", id="wrong text"),
        pytest.param(200, NO_PLATE, 200, "wanted A123BC77, got no plate", id="no plate"),
        pytest.param(200, b"welcome", 200, "an infer call, got b'welcome'", id="no Triton"),
        pytest.param(500, DEAD, 200, "A123BC77, got HTTP 500: lprnet: Stub", id="dead worker"),
        pytest.param(503, DEAD, 200, "A123BC77, got HTTP 503: lprnet: Stub", id="noticed"),
        pytest.param(503, FULL, 400, "wanted A123BC77, got HTTP 503", id="not loaded"),
        pytest.param(200, RIGHT, 503, "wanted every worker, got A123BC77", id="one of several"),
        pytest.param(404, b"", 404, "A123BC77, got HTTP 404: no reason", id="no model"),
    ],
)
def test_anything_else_is_not_alive_and_one_sentence(
    answering, capsys, status: int, body: object, ready: int, sentence: str
) -> None:
    stub = answering(status, body, ready)
    assert probe.main(["--url", stub.url]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"probe: {stub.url}: wanted ")
    assert sentence in told
    assert told.count("\n") == 1


def test_nobody_listening_is_not_alive(capsys) -> None:
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        assert probe.main(["--url", f"127.0.0.1:{bound.getsockname()[1]}"]) == 1
    assert "wanted an answer, got [Errno 111] Connection refused" in capsys.readouterr().err


def test_a_server_that_says_nothing_in_time_is_not_alive(capsys, monkeypatch) -> None:
    connect = http.client.HTTPConnection
    waited: list[float] = []

    def noted(url: str, timeout: float) -> http.client.HTTPConnection:
        waited.append(timeout)
        return connect(url, timeout=timeout)

    monkeypatch.setattr("http.client.HTTPConnection", noted)
    with socket.create_server(("localhost", 0)) as silent:
        url = f"localhost:{silent.getsockname()[1]}"
        assert probe.main(["--url", url, "--timeout", "0.2"]) == 1
    assert waited == [0.2]
    assert capsys.readouterr().err == f"probe: {url}: wanted an answer, got timed out\n"


def test_the_call_carries_the_picture_in_the_binary_form(answering) -> None:
    stub = answering(200, RIGHT)
    probe.probe(stub.url, 5)
    headers, sent = parse(stub.calls[0])
    length = int(headers["Inference-Header-Content-Length"])
    call = json.loads(sent[:length])
    (encoded,) = call["inputs"]
    assert call["id"] == PROBE_ID  # the server does not count it as a picture
    picture = probe.PICTURE.read_bytes()
    assert sent[length:] == struct.pack("<I", len(picture)) + picture
    assert encoded["parameters"] == {"binary_data_size": 4 + len(picture)}


def test_it_runs_as_a_file_without_the_package_or_any_other(answering) -> None:
    stub = answering(200, RIGHT)
    done = subprocess.run(
        [sys.executable, "-IS", "-X", "importtime", PROBE, "--url", stub.url],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    imported = {name.strip() for name in re.findall(r"\|([^|]+)$", done.stderr, re.MULTILINE)}
    assert "http.client" in imported
    assert not imported & {"orchestrator", "numpy", "tritonclient", "site"}


def test_the_picture_is_small_and_what_the_generator_draws() -> None:
    drawn = scene([probe.TEXT], (320, 128), seed=3).picture
    kept = cv2.imread(str(probe.PICTURE))
    assert probe.PICTURE.stat().st_size < 6000
    assert kept.shape == drawn.shape
    difference = np.abs(kept.astype(int) - drawn.astype(int)).mean()
    assert difference < 4  # JPEG of quality 70
