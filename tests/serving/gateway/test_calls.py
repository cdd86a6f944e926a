"""Requests to one gateway with the usual options, which serves all tests of this module."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import grpc
import psutil
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from tests.serving.gateway.conftest import GREY, INFER, Running, answer_of, gateways
from tests.waiting import until

MIB = 1024 * 1024
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
DOCUMENT = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with gateways(tmp_path_factory.mktemp("gateway")) as begin:
        yield begin()


@pytest.fixture
def gateway(running: Running) -> Running:
    running.triton.reset()
    return running


@pytest.mark.parametrize("behind", [b"", HEALTH], ids=["alone", "with a request behind it"])
def test_a_call_of_a_client_that_hangs_up_is_cancelled_in_triton(
    gateway: Running, behind: bytes
) -> None:
    gateway.triton.gate.clear()
    connection = gateway.send()
    assert gateway.triton.call_permits.acquire(timeout=20)
    connection.sock.sendall(behind)
    connection.close()
    assert gateway.triton.cancelled.wait(20)


def test_a_connection_that_does_not_speak_http_is_counted(gateway: Running) -> None:
    with gateway.socket() as caller:
        caller.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert caller.recv(100).startswith(b"HTTP/1.1 400 ")
    sample = b"plates_gateway_connections_dropped_total 1.0"
    until(lambda: sample in gateway.metrics(), "a count")


def test_a_compressed_grpc_message_is_one_refusal_in_the_audit(gateway: Running) -> None:
    before = len(gateway.audit.read_text().splitlines())
    with (
        grpc.insecure_channel(str(gateway.gateway.options.grpc)) as channel,
        pytest.raises(grpc.RpcError) as raised,
    ):
        GRPCInferenceServiceStub(channel).ModelInfer(
            pb.ModelInferRequest(model_name="plate_recognition", raw_input_contents=[bytes(9999)]),
            compression=grpc.Compression.Gzip,
        )
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
    until(lambda: len(gateway.audit.read_text().splitlines()) > before, "a line")
    (entry,) = map(json.loads, gateway.audit.read_text().splitlines()[before:])
    assert (entry["client"], entry["what"], entry["status"]) == ("unknown", "other", 415)


def test_a_client_that_goes_away_while_its_answer_waits_leaves_no_traceback(
    gateway: Running,
) -> None:
    for _ in range(20):
        caller = socket.socket()
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        caller.connect(("127.0.0.1", gateway.port))
        caller.sendall(DOCUMENT * 50)
        caller.close()
    until(lambda: gateway.ask("GET", "/healthz")[0] == 200, "an answer")
    (worker,) = gateway.gateway.workers
    assert [line for line in worker.lines if not line.startswith("canary")] == []


def test_a_call_is_forwarded_and_answered_and_leaves_one_line_without_its_picture(
    gateway: Running,
) -> None:
    status, headers, body = answer_of(gateway.send())
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == {
        "model_name": "plate_recognition",
        "model_version": "1",
        "id": "gate-7",
        "outputs": [{"name": "texts", "datatype": "BYTES", "shape": [0, 1], "data": []}],
    }
    assert gateway.triton.requests[-1].raw_input_contents[0].endswith(GREY)
    gateway.ask("POST", INFER, b"{}")
    lines = [json.loads(line) for line in gateway.audit.read_text().splitlines()[-2:]]
    assert [(line["client"], line["what"], line["status"], line["plates"]) for line in lines] == [
        ("127.0.0.1", "infer", 200, 0),
        ("127.0.0.1", "infer", 400, 0),
    ]
    assert lines[0]["id"] == "gate-7"


def test_every_path_of_triton_but_ours_is_unknown(gateway: Running) -> None:
    before = len(gateway.triton.requests)
    paths = [
        "repository/index",
        "repository/models/yolo/unload",
        "systemsharedmemory/region/x/register",
        "cudasharedmemory/status",
        "logging",
        "trace/setting",
        "models/yolo/infer",
        "models/yolo",
        "models/plate_recognition/stats",
        "models/plate_recognition/generate",
        "models/stats",
    ]
    answers = {path: gateway.ask("POST", f"/v2/{path}", b"{}")[0] // 100 for path in paths}
    assert answers == dict.fromkeys(paths, 4)
    assert len(gateway.triton.requests) == before


@pytest.mark.parametrize("path", ["/docs/", "//evil.example/..", "/v1/recognize/"])
def test_no_redirect_is_made(gateway: Running, path: str) -> None:
    status, headers, _ = gateway.ask("GET", path)
    assert (status, headers.get("location")) == (404, None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Content-Length": str(90 * MIB)}, 413, id="too large"),
        pytest.param({"Transfer-Encoding": "chunked"}, 411, id="in chunks"),
        pytest.param({"Content-Encoding": "gzip"}, 415, id="compressed"),
    ],
)
def test_a_body_that_nobody_wants_is_refused_while_it_is_sent(
    gateway: Running, headers: dict[str, str], status: int
) -> None:
    url = f"http://127.0.0.1:{gateway.port}{INFER}"
    body = bytes(40 * MIB) if status != 411 else iter([bytes(MIB)] * 40)
    request = urllib.request.Request(url, body, headers)
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30)
    with raised.value as answer:
        assert (answer.code, answer.headers["connection"]) == (status, "close")


def test_requests_without_end_take_no_memory(gateway: Running) -> None:
    (worker,) = gateway.gateway.workers
    process = psutil.Process(worker.process.pid)
    gateway.ask("GET", "/healthz")
    rss = max_rss = process.memory_info().rss
    unsent = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40_000
    with gateway.socket() as caller:
        caller.settimeout(0.05)
        deadline = time.monotonic() + 60
        while unsent and time.monotonic() < deadline:
            with suppress(TimeoutError):
                unsent = unsent[caller.send(unsent[:65536]) :]
            with suppress(TimeoutError):
                caller.recv(MIB)
            max_rss = max(max_rss, process.memory_info().rss)
    assert not unsent
    assert max_rss - rss < 30 * MIB


def test_both_addresses_of_localhost_are_answered(gateway: Running) -> None:
    options = gateway.gateway.options
    ports = [address.port for address in (options.http, options.grpc, options.metrics)]
    for address in product(("127.0.0.1", "::1"), ports):
        socket.create_connection(address, timeout=5).close()
