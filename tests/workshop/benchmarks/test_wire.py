"""The light clients, against servers of a few lines that answer as Triton does."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from orchestrator.contract import MODEL, OUTPUTS
from orchestrator.errors import ModelError, Overloaded, ServerError
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import Address
from workshop.benchmarks.wire import HEADER, METHOD, REGION, Question, connect

PICTURE = Picture("grey", b"JPEG", np.full((2, 3, 3), 7, np.uint8))
QUESTION = Question(PICTURE)
SHM = Path("/dev/shm")


class FakeTriton(BaseHTTPRequestHandler):
    """Answers with the status given and 3 plates; keeps what was asked."""

    protocol_version = "HTTP/1.1"
    status = 200
    asked: ClassVar[list[tuple[str, dict, bytes]]] = []

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        length = int(self.headers[HEADER])
        self.asked.append((self.path, json.loads(content[:length]), content[length:]))
        answer = {"outputs": [{"name": "coordinates", "shape": [3, 4]}]}
        head = json.dumps(answer).encode()
        if self.status != 200:
            head = json.dumps({"error": "no way"}).encode()
        self.send_response(self.status)
        self.send_header(HEADER, str(len(head)))
        content = head + bytes(48 if self.status == 200 else 0)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def http() -> Iterator[tuple[type[FakeTriton], Address]]:
    handler = type("Handler", (FakeTriton,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield handler, Address(f"127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def test_an_encoded_picture_goes_as_its_file(http) -> None:
    handler, address = http
    with connect("http-encoded", QUESTION, address) as call:
        assert [call(), call()] == [3, 3]
    assert len(handler.asked) == 2
    path, request, data = handler.asked[1]
    assert path == f"/v2/models/{MODEL}/infer"
    assert [one["name"] for one in request["inputs"]] == ["encoded_image"]
    assert [one["name"] for one in request["outputs"]] == list(OUTPUTS)
    assert data[4:] == b"JPEG"


def test_new_pictures_differ_in_their_last_bytes_alone(http) -> None:
    handler, address = http
    with connect("http-encoded", replace(QUESTION, is_new=True), address) as call:
        assert [call(), call()] == [3, 3]
    first, second = (data[4:] for _, _, data in handler.asked)
    assert first != second
    assert (first[:1], len(first)) == (second[:1], len(second)) == (b"J", 4)


def test_a_raw_picture_goes_as_its_pixels(http) -> None:
    handler, address = http
    with connect("http-raw", QUESTION, address) as call:
        call()
    ((_, request, data),) = handler.asked
    assert request["inputs"][0]["shape"] == [2, 3, 3]
    assert data == PICTURE.bgr.tobytes()


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        pytest.param(503, Overloaded, "^no way$", id="full"),
        pytest.param(400, ModelError, "^HTTP 400: no way$", id="wrong"),
    ],
)
def test_http_failures_are_told_apart(http, status: int, kind: type, message: str) -> None:
    handler, address = http
    handler.status = status
    with (
        connect("http-raw", QUESTION, address) as call,
        pytest.raises(kind, match=message),
    ):
        call()


def test_a_caller_goes_on_after_a_failure(http) -> None:
    handler, address = http
    with connect("http-raw", QUESTION, address) as call:
        handler.status = 503
        with pytest.raises(Overloaded):
            call()
        handler.status = 200
        assert call() == 3


@pytest.mark.parametrize("transport", ["http-raw", "grpc", "grpc-shm"])
def test_nobody_there_is_a_failure(transport: str) -> None:
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{bound.getsockname()[1]}"
        with (
            pytest.raises(ServerError),
            connect(transport, QUESTION, Address(url, url)) as call,
        ):
            call()
    assert not list(SHM.glob(f"{REGION}*"))


class FakeGrpc(grpc.GenericRpcHandler):
    """Answers with 2 plates, or with the status given; keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.failure: tuple[grpc.StatusCode, str] | None = None

    def service(self, details: grpc.HandlerCallDetails):
        known = details.method == METHOD
        return grpc.unary_unary_rpc_method_handler(self.infer) if known else None

    def infer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        if self.failure:
            context.abort(*self.failure)
        self.asked.append(request)
        answer = service_pb2.ModelInferResponse()
        answer.outputs.add(name="coordinates", shape=[2, 4])
        return answer.SerializeToString()


@pytest.fixture
def over_grpc() -> Iterator[tuple[FakeGrpc, Address]]:
    handler = FakeGrpc()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield handler, Address("", f"127.0.0.1:{port}")
    server.stop(None).wait()


def test_a_picture_goes_in_the_message(over_grpc) -> None:
    handler, address = over_grpc
    with connect("grpc", QUESTION, address) as call:
        assert [call(), call()] == [2, 2]
    request = service_pb2.ModelInferRequest.FromString(handler.asked[1])
    assert (request.model_name, list(request.inputs[0].shape)) == (MODEL, [2, 3, 3])
    assert list(request.raw_input_contents) == [PICTURE.bgr.tobytes()]
    assert [output.name for output in request.outputs] == list(OUTPUTS)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        pytest.param(
            (grpc.StatusCode.UNAVAILABLE, "Exceeds maximum queue size"), Overloaded, id="full"
        ),
        pytest.param((grpc.StatusCode.UNAVAILABLE, "Socket closed"), ServerError, id="gone"),
        pytest.param((grpc.StatusCode.INTERNAL, "broken"), ModelError, id="broken"),
    ],
)
def test_grpc_failures_are_told_apart(over_grpc, failure: tuple, kind: type) -> None:
    handler, address = over_grpc
    with connect("grpc", QUESTION, address) as call:
        handler.failure = failure
        with pytest.raises(kind, match=failure[1]):
            call()


def test_a_server_without_shared_memory_is_an_error_and_leaves_nothing(over_grpc) -> None:
    _, address = over_grpc
    with (
        pytest.raises(ServerError, match="shared memory: wanted 18 bytes there, got "),
        connect("grpc-shm", QUESTION, address),
    ):
        pass
    assert not list(SHM.glob(f"{REGION}*"))
