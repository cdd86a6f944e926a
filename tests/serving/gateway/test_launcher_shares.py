"""Clients that announce bodies to a gateway, and never send them."""

import json
import re
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest

from orchestrator.serving.gateway.options import MIB, Limits
from tests.serving.gateway.conftest import INFER, Running, Start, answer_of
from tests.serving.gateway.key_files import write_keys
from tests.waiting import until

KEYS = {"gate": "plates_gate-key", "archive": "plates_archive-key"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return write_keys(tmp_path, **KEYS)


def announce(
    gateway: Running, size: int, source: str = "127.0.0.1", key: str = ""
) -> socket.socket:
    """Send the headers of a call and its body but the last byte."""
    connection = gateway.socket(source)
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    head = f"POST {INFER} HTTP/1.1\r\nHost: localhost\r\n{authorization}Content-Length: {size}\r\n"
    connection.sendall(head.encode() + b"\r\n" + bytes(size - 1))
    return connection


def wait_for(gateway: Running, gauge: str, value: int) -> None:
    line = re.compile(rf"^plates_gateway_{gauge} (\S+)$", re.MULTILINE)
    until(
        lambda: float(line.findall(gateway.metrics().decode())[0]) == value, f"{gauge} of {value}"
    )


def close(connections: Sequence[socket.socket]) -> None:
    for connection in connections:
        connection.close()


def test_two_clients_that_announce_bodies_do_not_shut_a_gate_out(begin: Start, keys: Path) -> None:
    gateway = begin(Limits(calls=1, waiting=40, body_mb=1, memory_mb=8), keys=keys)
    uploads = [announce(gateway, MIB, f"127.0.0.{2 + n // 4}") for n in range(7)]
    wait_for(gateway, "memory_bytes", 7 * (MIB - 1))
    assert answer_of(gateway.send("127.0.0.9"))[0] == 503
    assert answer_of(gateway.send(Authorization=f"Bearer {KEYS['gate']}"))[0] == 200
    close(uploads)


def test_an_upload_that_was_evicted_is_told_at_once_and_its_connection_closed(
    begin: Start, keys: Path
) -> None:
    gateway = begin(Limits(calls=1, waiting=7, body_s=300.0), keys=keys)
    archives = []
    for number in range(7):
        archives.append(announce(gateway, MIB, key=KEYS["archive"]))
        wait_for(gateway, "inside", number + 1)
    assert answer_of(gateway.send("127.0.0.9"))[0] == 200
    head, _, body = read_all(archives[-1]).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert {b"retry-after: 1", b"connection: close"} <= {*head.lower().splitlines()}
    assert "a call of better priority took the place" in json.loads(body)["error"]
    close(archives)


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes the connection."""
    got = b""
    while part := connection.recv(65536):
        got += part
    return got


def test_a_message_that_never_comes_is_evicted_over_grpc(begin: Start, keys: Path) -> None:
    gateway = begin(Limits(calls=1, waiting=1, body_s=300.0), keys=keys)
    never = threading.Event()
    with grpc.insecure_channel(str(gateway.gateway.options.grpc)) as channel:
        infer = channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")
        metadata = [("authorization", f"Bearer {KEYS['archive']}")]
        calls = [infer.future(iter(never.wait, True), metadata=metadata) for _ in range(2)]
        wait_for(gateway, "inside", 2)
        assert answer_of(gateway.send("127.0.0.9"))[0] == 200
        until(lambda: any(call.done() for call in calls), "an evicted call")
        (evicted,) = (call for call in calls if call.done())
        assert evicted.code() is grpc.StatusCode.UNAVAILABLE
        assert "a call of better priority took the place" in evicted.details()
        never.set()
