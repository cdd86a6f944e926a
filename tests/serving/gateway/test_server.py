"""Addresses of a gateway, its background tasks, and its shutdown."""

import gc
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import grpc
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.http.extension import Extension
from orchestrator.serving.gateway.launcher import Gateway, start
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits, to_json
from orchestrator.serving.gateway.server import HttpServer, serve
from orchestrator.serving.supervisor.ports import free_ports
from orchestrator.serving.supervisor.service_loop import ServiceSpec, supervise
from tests.serving.gateway.conftest import GREY, Running, Start, answer_of
from tests.serving.gateway.loops import run
from tests.waiting import until


def options_at(folder: Path) -> GatewayOptions:
    http, grpc_address, metrics = (Address("127.0.0.1", port) for port in free_ports(3))
    return GatewayOptions(
        triton_grpc="127.0.0.1:1", http=http, grpc=grpc_address, metrics=metrics,
        audit=folder / "audit", limits=Limits(calls=1),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["http", "grpc", "metrics"])
def test_a_port_is_not_shared_with_another_service(name: str, tmp_path: Path, monkeypatch) -> None:
    """The other service shares its port with this user's processes, like a gateway."""
    monkeypatch.setenv("GRPC_VERBOSITY", "NONE")  # as whoever starts it sets it
    options = options_at(tmp_path)
    address = getattr(options, name)
    with socket.create_server(("127.0.0.1", address.port), reuse_port=True):
        child = subprocess.run(
            [sys.executable, "-m", "orchestrator.serving.gateway"],
            input=to_json(options), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    message = child.stderr
    assert (child.returncode, message.partition("on: ")[0]) == (
        1,
        f"gateway: {address}: cannot be listened ",
    )
    assert message.count("\n") == 1


def test_another_service_may_have_the_other_address(tmp_path: Path) -> None:
    options = options_at(tmp_path)
    with socket.create_server(("::1", options.http.port), family=socket.AF_INET6):
        gateway = start(options)
        assert gateway.monitor()
        gateway.stop(timeout_s=0)


@pytest.mark.parametrize("front", ["http", "grpc"])
def test_without_a_free_descriptor_it_waits_for_clients_to_go(begin: Start, front: str) -> None:
    running = begin()
    (worker,) = running.gateway.workers
    descriptor_count = len(list(Path(f"/proc/{worker.process.pid}/fd").iterdir()))
    resource.prlimit(
        worker.process.pid, resource.RLIMIT_NOFILE, (descriptor_count + 5, descriptor_count + 5)
    )
    address = getattr(running.gateway.options, front)
    with ExitStack() as flood:
        connect = partial(socket.create_connection, (address.host, address.port))
        _ = [flood.enter_context(connect()) for _ in range(50)]
        until(lambda: not is_answered(running), "a gateway that has none left")
    until(lambda: is_answered(running), "answers again")
    assert running.gateway.monitor()


def is_answered(running: Running) -> bool:
    try:
        return running.ask("GET", "/healthz")[0] == 200
    except OSError:
        return False


DIES_WHEN_TOLD = """
import asyncio, os, sys
from orchestrator.serving.gateway.__main__ import main
from orchestrator.serving.gateway.upstream.health import Canary
async def die(_self):
    while not os.path.exists(sys.argv[1]):
        await asyncio.sleep(0.01)
    raise ValueError("not a number")
Canary.watch = die
main()
"""


def test_a_process_whose_task_dies_is_told_of_and_another_started(tmp_path: Path, caplog) -> None:
    order = tmp_path / "die"
    command = [sys.executable, "-c", DIES_WHEN_TOLD, str(order)]
    options = options_at(tmp_path)
    gateways: list[Gateway] = []

    def begin() -> Gateway:
        order.unlink(missing_ok=True)
        gateways.append(start(options, command))
        return gateways[-1]

    def sleep(seconds: float) -> None:
        if len(gateways) == 2:
            raise KeyboardInterrupt
        time.sleep(seconds)

    with pytest.raises(KeyboardInterrupt):
        supervise([ServiceSpec("the gateway", begin)], order.touch, sleep)
    (dead,), (second,) = (gateway.workers for gateway in gateways)
    assert dead.process.returncode == 1
    assert dead.reason() == "a task in the background failed: ValueError('not a number')"
    assert second.process.returncode == 0  # told to end
    assert "the gateway died; starting again" in caplog.messages
    assert {"Traceback (most recent call last):", "ValueError: not a number"} <= {*caplog.messages}


def test_a_server_that_dies_in_the_background_ends_the_process(tmp_path: Path, monkeypatch) -> None:
    async def die(*_: object) -> None:
        raise ValueError("not a number")

    monkeypatch.setattr(HttpServer, "serve", die)
    with pytest.raises(ServerError, match=r"^a task in the background failed: ValueError\('not a"):
        run(serve(options_at(tmp_path)))


def test_a_process_that_is_told_to_end_while_it_starts_leaves_no_warning(tmp_path: Path) -> None:
    """Its background tasks have not begun then; Python would name each in the log."""

    def open_extension() -> Extension:
        signal.raise_signal(signal.SIGTERM)
        raise ServerError("told to end")

    run(serve(options_at(tmp_path), open_extension))
    gc.collect()


SOON_S = 12
"""Less than the grace period of 15 s, and enough for a busy machine."""


def is_closed(running: Running) -> bool:
    try:
        running.socket().close()
    except ConnectionError:  # refused, or reset as it was about to be
        return True
    return False


def test_calls_in_work_are_answered_and_nobody_else_delays_the_end(begin: Start) -> None:
    """Idle connections, half a request and further signals do not delay it."""
    running = begin()
    (worker,) = running.gateway.workers
    with grpc.insecure_channel(str(running.gateway.options.grpc)) as channel:
        stub = GRPCInferenceServiceStub(channel)
        assert running.ask("GET", "/healthz")[0] == 200  # its connection stays
        silent = running.socket()
        silent.sendall(b"GET / HT")
        assert answer_of(running.send())[0] == 200  # a new client has fewer calls at once
        running.triton.gate.clear()
        connection, call = running.send(), stub.ModelInfer.future(infer_request())
        assert [running.triton.call_permits.acquire(timeout=20) for _ in range(3)] == [True] * 3
        worker.process.send_signal(signal.SIGTERM)
        until(lambda: is_closed(running), "a closed port")
        with pytest.raises(grpc.RpcError) as raised:
            stub.ServerLive(pb.ServerLiveRequest())
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
        for number in (signal.SIGTERM, signal.SIGINT):
            worker.process.send_signal(number)
        running.triton.gate.set()
        status, headers, _ = answer_of(connection)
        assert (status, headers["connection"]) == (200, "close")
        assert call.result().model_name == "plate_recognition"
        assert worker.process.wait(SOON_S) == 0
    assert [line for line in worker.lines if not line.startswith("canary:")] == []
    silent.close()


def infer_request() -> pb.ModelInferRequest:
    encoded = pb.ModelInferRequest.InferInputTensor(
        name="encoded_image", datatype="BYTES", shape=[1]
    )
    element = struct.pack("<I", len(GREY)) + GREY
    return pb.ModelInferRequest(
        model_name="plate_recognition", inputs=[encoded], raw_input_contents=[element]
    )
