"""Requests to one gateway with the usual options, which serves all tests of this module."""

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.gateway.conftest import GREY, INFER, Running, answer_of, gateways

MIB = 1024 * 1024
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
NO_PICTURE = b"POST /v1/recognize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with gateways(tmp_path_factory.mktemp("gateway")) as begin:
        yield begin()


def read_all(caller: socket.socket) -> bytes:
    """Return what comes until the connection is closed."""
    parts = []
    while part := caller.recv(65536):
        parts.append(part)
    return b"".join(parts)


def test_a_call_is_forwarded_and_answered(gateway: Running) -> None:
    status, headers, body = answer_of(gateway.send())
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == {
        "model_name": "plate_recognition",
        "model_version": "1",
        "id": "gate-7",
        "outputs": [{"name": "texts", "datatype": "BYTES", "shape": [0, 1], "data": []}],
    }
    request = gateway.triton.requests[-1]
    assert request.raw_input_contents[0].endswith(GREY)


def test_each_call_leaves_one_line_and_no_picture(gateway: Running) -> None:
    answer_of(gateway.send())
    gateway.ask("POST", INFER, b"{}")
    lines = [json.loads(line) for line in gateway.audit.read_text().splitlines()[-2:]]
    assert [(one["client"], one["what"], one["status"], one["plates"]) for one in lines] == [
        ("127.0.0.1", "infer", 200, 0),
        ("127.0.0.1", "infer", 400, 0),
    ]
    assert lines[0]["id"] == "gate-7"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param("Content-Length: 99999999999", 413, id="too large"),
        pytest.param("Transfer-Encoding: chunked", 411, id="in chunks"),
        pytest.param("Content-Encoding: gzip\r\nContent-Length: 9", 415, id="compressed"),
        pytest.param("X-a: b", 411, id="of no length"),
    ],
)
def test_a_body_that_nobody_wants_is_not_read(gateway: Running, headers: str, status: int) -> None:
    with gateway.socket() as caller:
        caller.sendall(f"POST {INFER} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n".encode())
        answer = caller.recv(1000)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nconnection: close\r\n" in answer


def test_every_path_of_triton_but_ours_is_unknown(gateway: Running) -> None:
    before = len(gateway.triton.requests)
    paths = [
        "/v2/repository/index",
        "/v2/repository/models/yolo/unload",
        "/v2/systemsharedmemory/region/x/register",
        "/v2/cudasharedmemory/status",
        "/v2/logging",
        "/v2/trace/setting",
        "/v2/models/yolo/infer",
        "/v2/models/yolo",
        "/v2/models/plate_recognition/stats",
        "/v2/models/plate_recognition/generate",
        "/v2/models/stats",
    ]
    assert {path: gateway.ask("POST", path, b"{}")[0] // 100 for path in paths} == dict.fromkeys(
        paths, 4
    )
    assert len(gateway.triton.requests) == before


def test_requests_behind_one_another_are_answered_in_order(gateway: Running) -> None:
    with gateway.socket() as caller:
        caller.sendall(HEALTH + NO_PICTURE + LAST)
        answers = read_all(caller)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"200", b"400", b"200"]


def test_requests_in_small_pieces_are_answered(gateway: Running) -> None:
    with gateway.socket() as caller:
        for byte in NO_PICTURE + LAST:
            caller.sendall(bytes([byte]))
        answers = read_all(caller)
    assert answers.count(b"HTTP/1.1 ") == 2


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Content-Length": str(40 * MIB)}, 413, id="too large"),
        pytest.param({"Transfer-Encoding": "chunked"}, 411, id="in chunks"),
        pytest.param({"Content-Encoding": "gzip"}, 415, id="compressed"),
    ],
)
def test_a_refusal_reaches_who_still_sends(
    gateway: Running, headers: dict[str, str], status: int
) -> None:
    url = f"http://127.0.0.1:{gateway.port}{INFER}"
    body = bytes(40 * MIB) if status != 411 else iter([bytes(MIB)] * 40)
    request = urllib.request.Request(url, body, headers)
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30)
    with raised.value as answer:
        assert answer.code == status
