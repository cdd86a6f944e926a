"""Small servers with one socket each, which misbehave as a test asks."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import grpc
from tritonclient.grpc import service_pb2 as pb

from orchestrator.contract import OUTPUTS

Handle = Callable[[socket.socket], None]


@contextmanager
def listening(handle: Handle) -> Iterator[str]:
    """Handle each connection in its own thread; yield the address.

    Each write is sent at once, as by proxies. Otherwise an answer over TLS would wait behind the
    tickets of the handshake, and be lost at a disconnect with unread bytes.
    """
    with closing(socket.create_server(("127.0.0.1", 0), backlog=64)) as listener:
        threading.Thread(target=_accept, args=(listener, handle), daemon=True).start()
        yield address_of(listener)
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def deaf() -> Iterator[str]:
    """Listen, but accept no connection, as if a firewall dropped the packets."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=0)) as listener:
        clients = [socket.socket() for _ in range(4)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield address_of(listener)
        for client in clients:
            client.close()


def address_of(listener: socket.socket) -> str:
    return "{}:{}".format(*listener.getsockname())


def _accept(listener: socket.socket, handle: Handle) -> None:
    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the caller has hung up
            handle(connection)

    with suppress(OSError):  # the test has ended
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


def receive(connection: socket.socket) -> bytes:
    """Return one whole request; empty if the client has closed the connection."""
    request = b""
    while b"\r\n\r\n" not in request:
        part = connection.recv(65536)
        if not part:
            return b""
        request += part
    head, _, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: (\d+)", head)
    while len(body) < (int(length[1]) if length else 0):
        part = connection.recv(65536)
        if not part:
            return b""
        body += part
    return head + b"\r\n\r\n" + body


def parse(request: bytes) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a request."""
    head, _, body = request.partition(b"\r\n\r\n")
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:]), body


def reply(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def outputs() -> list[dict[str, object]]:
    """Return the JSON outputs of an answer without plates."""
    kinds = {"float32": "FP32", "object_": "BYTES"}
    return [
        {
            "name": name,
            "datatype": kinds[output.dtype.__name__],
            "shape": [0, *output.row_shape],
            "data": [],
        }
        for name, output in OUTPUTS.items()
    ]


def answer_of(outputs: list[dict[str, object]]) -> bytes:
    return reply(200, json.dumps({"model_name": "plate_recognition", "outputs": outputs}).encode())


NO_PLATES = answer_of(outputs())
NO_PLATES_OVER_GRPC = pb.ModelInferResponse(
    outputs=[
        {name: output[name] for name in ("name", "datatype", "shape")} for output in outputs()
    ],
    raw_output_contents=[b"" for _ in outputs()],
).SerializeToString()
WITHOUT_END = struct.pack("ii", 1, 0)
"""Value of SO_LINGER that closes a connection with a reset."""


def answer_all(connection: socket.socket) -> None:
    """Answer every request without plates."""
    while receive(connection):
        connection.sendall(NO_PLATES)


def say_nothing(connection: socket.socket) -> None:
    """Receive requests, and never answer."""
    while connection.recv(65536):
        pass


@contextmanager
def listening_over_grpc(
    answer: Callable[[bytes, grpc.ServicerContext], bytes],
    credentials: grpc.ServerCredentials | None = None,
) -> Iterator[str]:
    """Answer inference calls in sequence, over gRPC with TLS and credentials; yield the URL."""
    server = grpc.server(ThreadPoolExecutor(1))
    handlers = {"ModelInfer": grpc.unary_unary_rpc_method_handler(answer)}
    service = grpc.method_handlers_generic_handler("inference.GRPCInferenceService", handlers)
    server.add_generic_rpc_handlers((service,))
    any_port = "127.0.0.1:0"
    port = (
        server.add_secure_port(any_port, credentials)
        if credentials
        else server.add_insecure_port(any_port)
    )
    server.start()
    yield f"{'grpcs' if credentials else 'grpc'}://127.0.0.1:{port}"
    server.stop(None)


class CountingServer:
    """A server that counts connections and requests; request n of a connection gets answer n.

    Attributes:
        answers: Answers to the first requests of a connection.
        goes_on: True to give the last answer to all further requests.
        listens_on: True to take one more request after the answers, before the close.
        resets: True to close the connection with a reset.
    """

    def __init__(
        self, *answers: bytes, goes_on: bool = True, listens_on: bool = True, resets: bool = False
    ) -> None:
        self.answers = answers
        self.goes_on = goes_on
        self.listens_on = listens_on
        self.resets = resets
        self.connections = 0
        self.requests = 0

    def __call__(self, connection: socket.socket) -> None:
        self.connections += 1
        last = self.answers[-1:] if self.goes_on else ()
        for answer in (*self.answers, *last * 1000):
            if not receive(connection):
                return
            self.requests += 1
            connection.sendall(answer)
        if self.listens_on and receive(connection):
            self.requests += 1
        if self.resets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, WITHOUT_END)
