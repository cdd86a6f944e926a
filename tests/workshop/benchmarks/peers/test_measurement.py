"""Servers under load and their answers, with a server that always gives the same answer."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from orchestrator.errors import ModelError, ServerError
from orchestrator.plates import Plate, Plates
from workshop.benchmarks.load.requests import rest
from workshop.benchmarks.peers.answers import read_peer
from workshop.benchmarks.peers.servers import ComparedServer
from workshop.benchmarks.peers.session import check_answers
from workshop.benchmarks.pictures import Picture

PLATES = Plates((Plate((1.0, 2.0, 30.0, 40.0), text="A001AA77"),))
STREET = Picture("street", b"picture", np.zeros((2, 2, 3), np.uint8))
CALL_CPU_S = 0.03
"""CPU seconds of a call: more than the hundredth of a second in which the kernel counts them."""


class Answering(BaseHTTPRequestHandler):
    """Answers every picture with the same plate, but refuses an empty one."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        self.rfile.read(size)
        until = time.process_time() + CALL_CPU_S
        while time.process_time() < until:
            pass
        answer = json.dumps(PLATES.to_dict()).encode()
        self.send_response(200 if size else 400)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


class FakeWorker:
    """Answers as the process of the bound does."""

    def __init__(self, plates: Plates) -> None:
        self.plates = plates

    def read(self, encoded: bytes) -> Plates:
        return self.plates


@pytest.fixture
def server() -> Iterator[ComparedServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as http:
        Thread(target=http.serve_forever).start()
        yield ComparedServer(
            name="FastAPI",
            version="1",
            address=f"127.0.0.1:{http.server_port}",
            roots=(os.getpid(),),
            build=rest,
            read=read_peer,
            count=lambda request, reply: len(json.loads(reply.content)["plates"]),
            describe_end=lambda: "",
        )
        http.shutdown()


def test_a_server_is_measured_with_its_processes(server: ComparedServer) -> None:
    measured = server.target.measure(STREET, 2, 0.1)
    assert (measured.plates, measured.errors) == (1, 0)
    assert len(measured.latencies_ms) >= 2
    assert min(measured.cpu_s.server, measured.cpu_s.client) > 0
    assert measured.peaks.memory_bytes > 10_000_000


def test_failed_calls_are_errors(server: ComparedServer) -> None:
    measured = server.target.measure(replace(STREET, encoded=b""), 1, 0.1)
    assert measured.errors > 0
    assert measured.first_error.startswith("400: ")
    with pytest.raises(ServerError, match="FastAPI: wanted plates, got 400"):
        server.answer(b"")


def test_a_server_that_has_ended_ends_the_measurement(server: ComparedServer) -> None:
    with pytest.raises(ServerError, match="it is gone"):
        replace(server, describe_end=lambda: "it is gone").target.measure(STREET, 1, 0.1)


def test_a_run_goes_on_only_if_all_answers_are_alike(server: ComparedServer) -> None:
    check_answers([server], FakeWorker(PLATES), STREET)
    with pytest.raises(ModelError, match="FastAPI, street: plates: wanted 0, got 1"):
        check_answers([server], FakeWorker(Plates()), STREET)
