"""Gateways with narrow limits: rejected calls, uploads, clients and connections."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import psutil
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from orchestrator.serving.gateway.options import MAX_LIMIT, MIB, Limits
from tests.serving.gateway.conftest import INFER, Running, Start, answer_of, gateways
from tests.serving.gateway.key_files import write_keys
from tests.waiting import until

KEYS = {"gate": "plates_gate-key", "archive": "plates_archive-key"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway of two places, and of clients with keys."""
    folder = tmp_path_factory.mktemp("gateway")
    with gateways(folder) as begin:
        yield begin(Limits(calls=1, waiting=1, body_s=300.0), keys=write_keys(folder, **KEYS))


@pytest.fixture
def gateway(small: Running) -> Running:
    small.triton.reset()
    wait_for(small, "inside", 0)
    return small


def test_a_full_service_refuses_with_503(gateway: Running) -> None:
    gateway.triton.gate.clear()
    first = gateway.send()
    gateway.triton.call_permits.acquire(timeout=20)
    second = gateway.send(source="127.0.0.3")
    wait_for(gateway, "waiting", 1)
    status, headers, body = answer_of(gateway.send(source="127.0.0.2"))
    gateway.triton.gate.set()
    assert (status, headers["retry-after"]) == (503, "1")
    assert "error" in json.loads(body)
    assert [answer_of(connection)[0] for connection in (first, second)] == [200, 200]


def test_the_largest_limits_are_taken(begin: Start) -> None:
    """In bytes and milliseconds, some are more than gRPC and sockets take."""
    names = ("body_mb", "header_kb", "connections", "idle_s", "write_s")
    gateway = begin(Limits(calls=4).updated([f"{name}={MAX_LIMIT}" for name in names]))
    assert answer_of(gateway.send())[0] == 200


def test_several_processes_share_the_ports(begin: Start) -> None:
    gateway = begin(processes=2)
    ready = [200] * 16  # asked often enough to meet both
    until(lambda: [gateway.ask("GET", "/readyz")[0] for _ in ready] == ready, "both to be ready")
    assert [answer_of(gateway.send())[0] for _ in range(8)] == [200] * 8


def test_without_a_key_nobody_is_answered_and_wrong_keys_are_limited_like_calls(
    begin: Start, tmp_path: Path
) -> None:
    file, limits = write_keys(tmp_path, **KEYS), Limits(calls=4, client_rate=0.01)
    gateway = begin(limits, keys=file, wants_keys=True)
    assert answer_of(gateway.send("127.0.0.7"))[0] == 401
    assert answer_of(gateway.send(Authorization=f"Bearer {KEYS['gate']}"))[0] == 200
    assert [gateway.ask("GET", path)[0] for path in ("/metrics", "/healthz")] == [401, 200]
    assert KEYS["gate"] not in gateway.audit.read_text()
    wrong = [{"Authorization": f"Bearer plates_{number}"} for number in range(3)]
    tries = [answer_of(gateway.send("127.0.0.8", **headers))[0] for headers in wrong]
    assert tries == [401, 429, 429]
    right = {"Authorization": f"Bearer {KEYS['archive']}"}
    assert answer_of(gateway.send("127.0.0.9", **right))[0] == 200


def announce(gateway: Running, size: int, key: str) -> socket.socket:
    """Send the headers of a call and its body but the last byte."""
    connection = gateway.socket()
    head = (
        f"POST {INFER} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Length: {size}\r\n\r\n"
    )
    connection.sendall(head.encode() + bytes(size - 1))
    return connection


def wait_for(gateway: Running, gauge: str, value: int) -> None:
    line = re.compile(rf"^plates_gateway_{gauge} (\S+)$", re.MULTILINE)
    until(
        lambda: float(line.findall(gateway.metrics().decode())[0]) == value, f"{gauge} of {value}"
    )


def test_an_upload_that_was_evicted_is_told_at_once_and_its_connection_closed(
    gateway: Running,
) -> None:
    with ExitStack() as stack:
        for number in range(2):
            last = stack.enter_context(announce(gateway, MIB, KEYS["archive"]))
            wait_for(gateway, "inside", number + 1)
        wait_for(gateway, "memory_bytes", 2 * (MIB - 1))
        assert answer_of(gateway.send("127.0.0.9"))[0] == 200
        head, _, body = read_all(last).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert {b"retry-after: 1", b"connection: close"} <= {*head.lower().splitlines()}
    assert "a call of better priority took the place" in json.loads(body)["error"]


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_message_that_never_comes_is_evicted_over_grpc(gateway: Running) -> None:
    never = threading.Event()
    with grpc.insecure_channel(str(gateway.gateway.options.grpc)) as channel:
        infer = channel.stream_unary("/inference.GRPCInferenceService/ModelInfer")
        metadata = [("authorization", f"Bearer {KEYS['archive']}")]
        calls = [infer.future(iter(never.wait, True), metadata=metadata) for _ in range(2)]
        wait_for(gateway, "inside", 2)
        assert answer_of(gateway.send("127.0.0.9"))[0] == 200
        until(lambda: any(call.done() for call in calls), "an evicted call")
        (evicted_call,) = (call for call in calls if call.done())
        assert evicted_call.code() is grpc.StatusCode.UNAVAILABLE
        assert "a call of better priority took the place" in evicted_call.details()
        never.set()


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = Limits(calls=4, call_s=1.0, write_s=0.5, connections=4, client_connections=2)
    with gateways(tmp_path_factory.mktemp("gateway")) as begin:
        yield begin(limits)


@pytest.fixture
def strict(narrow: Running) -> Running:
    """A gateway of short times and few connections, of which none is open."""
    narrow.triton.reset()
    _ = [connection.close() for connection in narrow.connections]
    wait_for(narrow, "connections", 0)
    return narrow


def test_an_answer_that_is_late_is_given_up(strict: Running) -> None:
    strict.triton.gate.clear()
    status, _, body = answer_of(strict.send())
    assert (status, b"within 1 s" in body) == (504, True)
    assert strict.triton.cancelled.wait(20)


def test_a_client_that_does_not_read_its_answer_is_cut_off(strict: Running) -> None:
    unsent = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        caller.connect(("127.0.0.1", strict.port))
        caller.setblocking(False)
        with suppress(BlockingIOError):
            while unsent:
                unsent = unsent[caller.send(unsent) :]
        (worker,) = strict.gateway.workers
        until(lambda: not connections_of(worker.process.pid, caller), "an end of the connection")
    assert strict.ask("GET", "/healthz")[0] == 200


def connections_of(pid: int, caller: socket.socket) -> list[object]:
    """Return a process's open connections to a socket."""
    port = caller.getsockname()[1]
    connections = psutil.Process(pid).net_connections("tcp")
    return [tcp for tcp in connections if tcp.raddr and tcp.raddr.port == port]


def is_closed(caller: socket.socket) -> bool:
    """Tell whether the other end has closed a connection, without reading from it."""
    caller.setblocking(False)
    try:
        return caller.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_an_address_has_so_many_connections_and_others_theirs(strict: Running) -> None:
    with (
        strict.socket() as first,
        strict.socket() as second,
        strict.socket("127.0.0.2") as other,
        strict.socket(),
    ):
        until(lambda: is_closed(first), "an end of the oldest")
        assert not is_closed(second)
        assert not is_closed(other)


def test_probes_are_answered_whoever_holds_the_callers_port(strict: Running) -> None:
    strict.triton.gate.clear()
    calls = [strict.send(f"127.0.0.{2 + number // 2}") for number in range(4)]
    assert [strict.triton.call_permits.acquire(timeout=20) for _ in calls] == [True] * 4
    assert b"plates_gateway" in strict.metrics()


def test_grpc_connections_are_bounded_and_free_again_when_closed(strict: Running) -> None:
    address = str(strict.gateway.options.grpc)
    with ExitStack() as stack:
        first, *other_channels = [stack.enter_context(connect(address)) for _ in range(4)]
        assert [is_live(channel) for channel in (first, *other_channels)] == [True] * 4
        with connect(address) as late_channel:
            assert not is_live(late_channel)
        first.close()
        with connect(address) as next_channel:
            until(lambda: is_live(next_channel), "a connection that is free")


def connect(address: str) -> grpc.Channel:
    """Return a channel that shares its connection with no other."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 100)]
    return grpc.insecure_channel(address, options=options)


def is_live(channel: grpc.Channel) -> bool:
    call = GRPCInferenceServiceStub(channel).ServerLive.future(pb.ServerLiveRequest())
    assert call.code() in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    return call.code() == grpc.StatusCode.OK
