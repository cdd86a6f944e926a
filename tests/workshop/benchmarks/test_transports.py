"""Callers for each transport, against a Triton of a few lines."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from orchestrator.contract import OUTPUTS
from orchestrator.errors import ServerError
from workshop.benchmarks.load.requests import HEADER
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.plan import Address
from workshop.benchmarks.transports import REGION, PictureRequest, connect

REQUEST = PictureRequest(Picture("grey", b"JPEG", np.full((2, 3, 3), 7, np.uint8)))


class Triton(BaseHTTPRequestHandler):
    """Answers with a row for each byte of an input; refuses whatever does not ask for outputs."""

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        size = int(self.headers[HEADER])
        has_all = [one["name"] for one in json.loads(content[:size])["outputs"]] == [*OUTPUTS]
        answer = json.dumps({"outputs": [{"shape": [len(content) - size, 4]}]}).encode()
        self.send_response(200 if has_all else 400)
        self.send_header(HEADER, str(len(answer)))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


class GrpcTriton(grpc.GenericRpcHandler):
    """Answers inference in the same way, and does not know shared memory."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        known = details.method.endswith("/ModelInfer")
        return grpc.unary_unary_rpc_method_handler(self.infer) if known else None

    def infer(self, content: bytes, context: grpc.ServicerContext) -> bytes:
        request = service_pb2.ModelInferRequest.FromString(content)
        answer = service_pb2.ModelInferResponse()
        answer.outputs.add(shape=[len(request.raw_input_contents[0]), 4])
        return answer.SerializeToString()


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=[GrpcTriton()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with HTTPServer(("127.0.0.1", 0), Triton) as listening:
        Thread(target=listening.serve_forever).start()
        yield Address(f"127.0.0.1:{listening.server_port}", f"127.0.0.1:{port}")
        listening.shutdown()
    server.stop(None).wait()


@pytest.mark.parametrize(
    ("transport", "size"),
    [("http-encoded", 4 + len(b"JPEG")), ("http-raw", 18), ("grpc", 18)],
)
def test_a_picture_goes_as_its_file_or_its_pixels(
    address: Address, transport: str, size: int
) -> None:
    with connect(transport, REQUEST, address) as send:
        outcomes = [send(0), send(1)]
    assert [one.plates for one in outcomes] == [size] * 2
    assert [one.status for one in outcomes] == ["answered"] * 2


def test_an_error_has_the_status_and_its_reason(address: Address) -> None:
    request = PictureRequest(REQUEST.picture, outputs=("texts",))
    with connect("http-raw", request, address) as send:
        outcome = send(0)
    assert outcome.status == "400"
    assert outcome.error.startswith("400: ")


def test_a_server_without_shared_memory_is_an_error_and_leaves_nothing(address: Address) -> None:
    with (
        pytest.raises(ServerError, match="shared memory: wanted 18 bytes there, got "),
        connect("grpc-shm", REQUEST, address),
    ):
        pass
    assert not list(Path("/dev/shm").glob(f"{REGION}*"))
