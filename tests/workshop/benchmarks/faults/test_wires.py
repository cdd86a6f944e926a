"""Answers as hashes, and what a call without one came to."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from tritonclient.grpc import service_pb2

from orchestrator.supervisor.ports import free_ports
from workshop.benchmarks.faults.wires import (
    ANSWERED,
    LOST,
    GrpcCaller,
    HttpCaller,
    Request,
    digest_json,
    digest_kserve,
    digest_response,
    digest_tensors,
    name_refusal,
)

TEXTS = ("texts", "BYTES", [1, 1], b"\x01\0\0\0A")
SCORES = ("text_scores", "FP32", [1, 1], b"\0\0\x80?")


def kserve(*tensors: tuple[str, str, list[int], bytes]) -> tuple[bytes, int]:
    outputs = [
        {"name": n, "datatype": d, "shape": s, "parameters": {"binary_data_size": len(c)}}
        for n, d, s, c in tensors
    ]
    head = json.dumps({"outputs": outputs}).encode()
    return head + b"".join(content for *_, content in tensors), len(head)


def response(*tensors: tuple[str, str, list[int], bytes]) -> object:
    found = service_pb2.ModelInferResponse()
    for name, kind, shape, content in tensors:
        found.outputs.add(name=name, datatype=kind, shape=shape)
        found.raw_output_contents.append(content)
    return found


def test_an_answer_has_the_same_digest_over_http_and_grpc() -> None:
    expected = digest_tensors([TEXTS, SCORES])
    assert digest_kserve(*kserve(SCORES, TEXTS)) == expected
    assert digest_response(response(TEXTS, SCORES)) == expected


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([TEXTS], id="fewer"),
        pytest.param([TEXTS, (*SCORES[:3], b"\1\0\x80?")], id="one-bit"),
        pytest.param([TEXTS, (*SCORES[:2], [1], SCORES[3])], id="shape"),
        pytest.param([TEXTS, ("scores", *SCORES[1:])], id="name"),
    ],
)
def test_another_answer_has_another_digest(other: list) -> None:
    assert digest_tensors(other) != digest_tensors([TEXTS, SCORES])


def test_the_order_of_json_members_does_not_matter() -> None:
    assert digest_json(b'{"a": 1, "b": 2}', 0) == digest_json(b'{"b":2,"a":1}', 0)
    assert digest_json(b'{"a": 1}', 0) != digest_json(b'{"a": 2}', 0)
    assert digest_json(b'{"a": 1, "seconds": {"yolo": 1}}', 0) == digest_json(b'{"a": 1}', 0)


@pytest.mark.parametrize(
    ("code", "details", "status"),
    [
        ("UNAVAILABLE", "Socket closed", LOST),
        ("UNAVAILABLE", "failed to connect to all addresses", LOST),
        ("UNAVAILABLE", "the service is away for a moment; try again", "UNAVAILABLE"),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", LOST),
        ("DEADLINE_EXCEEDED", "call: wanted an answer within 60 s", "DEADLINE_EXCEEDED"),
        ("INTERNAL", "connection", "INTERNAL"),
    ],
)
def test_a_broken_connection_is_no_refusal(code: str, details: str, status: str) -> None:
    assert name_refusal(code, details).status == status


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers by path."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/hang-up":
            self.close_connection = True
            return
        status, body = {"/full": (503, b"full"), "/odd": (200, b"<html>")}.get(
            self.path, (200, b"{}")
        )
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_caller_goes_on_after_each_kind_of_failure(address: str) -> None:
    requests = [Request(path, b"x") for path in ("/", "/full", "/hang-up", "/odd")]
    with closing(HttpCaller(address, requests, digest_json)) as caller:
        replies = [caller.send(number) for number in (0, 1, 2, 3, 0)]
    assert [reply.status for reply in replies] == [ANSWERED, "503", LOST, ANSWERED, ANSWERED]
    assert replies[0].digest == replies[4].digest == digest_json(b"{}", 2)
    assert replies[1].told == "full"
    assert replies[3].digest == ""  # which no right answer has


def test_a_grpc_call_that_meets_nobody_is_lost() -> None:
    (port,) = free_ports(1)
    with closing(GrpcCaller(f"127.0.0.1:{port}", [b""])) as caller:
        assert caller.send(0).status == LOST
