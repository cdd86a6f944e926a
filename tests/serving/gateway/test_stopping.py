"""The shutdown of a gateway: calls in work are answered, and no client can delay it."""

from __future__ import annotations

import http.client
import signal
import struct
import subprocess
from collections.abc import Iterator

import grpc
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from orchestrator.serving.gateway.options import Limits
from tests.serving.gateway.conftest import GREY, Running, Start, answer_of
from tests.waiting import until

SOON_S = 12
"""Less than the grace period of 15 s, and enough for a busy machine."""


@pytest.fixture
def running(begin: Start) -> Running:
    return begin()


@pytest.fixture
def stub(running: Running) -> Iterator[GRPCInferenceServiceStub]:
    with grpc.insecure_channel(str(running.gateway.options.grpc)) as channel:
        yield GRPCInferenceServiceStub(channel)


def process_of(running: Running) -> subprocess.Popen[str]:
    (worker,) = running.gateway.workers
    return worker.process


def tell_to_end(running: Running) -> None:
    """Send SIGTERM, and return when new calls are no longer accepted."""
    process_of(running).send_signal(signal.SIGTERM)
    until(lambda: is_closed(running), "a closed port")


def is_closed(running: Running) -> bool:
    try:
        running.socket().close()
    except ConnectionError:  # refused, or reset as it was about to be
        return True
    return False


def assert_ended(running: Running, within_s: float = SOON_S) -> None:
    """Check that the process ends in time, with exit status 0 and without an error message."""
    assert process_of(running).wait(within_s) == 0
    (worker,) = running.gateway.workers
    assert [line for line in worker.lines if not line.startswith("canary:")] == []


def keep_alive(running: Running) -> http.client.HTTPConnection:
    connection = running.connect()
    connection.request("GET", "/healthz")
    assert answer_of(connection)[0] == 200
    return connection


def test_calls_in_work_are_answered_and_nobody_else_holds_it_up(running: Running, stub) -> None:
    """Idle connections, half a request and further signals do not delay the end."""
    keep_alive(running)
    silent = running.socket()
    silent.sendall(b"GET / HT")
    running.triton.gate.clear()
    connection, call = running.send(), stub.ModelInfer.future(infer_request())
    assert [running.triton.asked.acquire(timeout=20) for _ in range(2)] == [True, True]
    tell_to_end(running)
    with pytest.raises(grpc.RpcError) as raised:
        stub.ServerLive(pb.ServerLiveRequest())
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    for number in (signal.SIGTERM, signal.SIGINT):
        process_of(running).send_signal(number)
    running.triton.gate.set()
    status, headers, _ = answer_of(connection)
    assert (status, headers["connection"]) == (200, "close")
    assert call.result().model_name == "plate_recognition"
    assert_ended(running)
    silent.close()


def test_grpc_connections_are_bounded_and_free_again_when_closed(begin: Start) -> None:
    address = str(begin(Limits(calls=4, connections=2)).gateway.options.grpc)
    with connect(address) as first, connect(address) as second:
        assert is_live(first)
        assert is_live(second)
        with connect(address) as third:
            assert not is_live(third)
        first.close()
        with connect(address) as fourth:
            until(lambda: is_live(fourth), "a connection that is free")


def connect(address: str) -> grpc.Channel:
    """Return a channel that shares its connection with no other."""
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 100)]
    return grpc.insecure_channel(address, options=options)


def is_live(channel: grpc.Channel) -> bool:
    call = GRPCInferenceServiceStub(channel).ServerLive.future(pb.ServerLiveRequest())
    assert call.code() in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    return call.code() == grpc.StatusCode.OK


def infer_request() -> pb.ModelInferRequest:
    encoded = pb.ModelInferRequest.InferInputTensor(
        name="encoded_image", datatype="BYTES", shape=[1]
    )
    element = struct.pack("<I", len(GREY)) + GREY
    return pb.ModelInferRequest(
        model_name="plate_recognition", inputs=[encoded], raw_input_contents=[element]
    )
