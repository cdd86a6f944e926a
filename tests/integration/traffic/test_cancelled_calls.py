"""Calls that are cancelled or find the queue full cost no other call its answer."""

import json
import socket
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc

from orchestrator import PlateClient
from orchestrator.contract import MODEL
from orchestrator.errors import Overloaded, ServerError
from orchestrator.serving.supervisor.launch.shutdown import IDLE_S
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import run_server, start
from tests.integration.conftest import GREY
from tests.integration.doubling import write_doubling
from tests.integration.gate import CallGate, count_pending, write_gated
from tests.samples import STREET
from tests.waiting import until

REACHED = "plates_pictures_total"
CANCELLED = 'plates_errors_total{reason="cancelled"}'
DROPPED = f'nv_inference_request_failure{{model="{MODEL}",reason="CANCELED",version="1"}}'
GiveUp = Callable[[], object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("gate")


@pytest.fixture(scope="module")
def one_at_a_time(folder: Path) -> Iterator[Server]:
    options = replace(on_free_ports(prepare(ServerOptions(device="cpu"))), pictures=1)
    with run_server(options, partial(write_gated, gate=CallGate(folder), model=MODEL)) as server:
        yield server


@pytest.fixture
def gate(folder: Path) -> Iterator[CallGate]:
    gate = CallGate(folder)
    gate.close()
    yield gate
    gate.open()


def count_cancelled(gate: CallGate) -> int:
    """Return the number of calls at the gate that Triton has reported as cancelled."""
    return len(list(gate.folder.glob("*.cancelled")))


def call_over_grpc(server: Server) -> GiveUp:
    """Send a call; return a function that cancels it."""
    client = tritonclient.grpc.InferenceServerClient(server.options.grpc_url)
    tensor = tritonclient.grpc.InferInput("input__0", (4, 4, 3), "UINT8")
    tensor.set_data_from_numpy(np.zeros((4, 4, 3), np.uint8))
    call = client.async_infer(MODEL, [tensor], lambda result, error: None)
    return call.cancel


def call_over_http(server: Server) -> GiveUp:
    """Send a call; return a function that closes its connection."""
    tensor = {"name": "input__0", "shape": [4, 4, 3], "datatype": "UINT8", "data": [0] * 48}
    body = json.dumps({"inputs": [tensor]}).encode()
    head = f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Length: {len(body)}\r\n"
    connection = socket.create_connection(server.options.http_url.split(":"))
    connection.sendall(f"{head}\r\n".encode() + body)
    return connection.close


def count_calls(server: Server) -> Counter[str]:
    """Return the numbers of calls by outcome, as Triton and the model count them."""
    with urllib.request.urlopen(server.options.metrics_url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines)
    return Counter({name: int(float(values[name])) for name in (REACHED, CANCELLED, DROPPED)})


def read_texts(server: Server) -> list[str]:
    """Return the texts that callers without a cancellation get, over HTTP and over gRPC."""
    http, grpc = server.options.http_url, f"grpc://{server.options.grpc_url}"
    with PlateClient(http) as first, PlateClient(grpc) as second:
        return [client.recognize(STREET).texts[0] for client in (first, second)]


def hold_two(call: Callable[[Server], GiveUp], server: Server, gate: CallGate) -> list[GiveUp]:
    """Send two calls: one is held in work, the other waits in the queue."""
    cancel_in_work = call(server)
    until(lambda: gate.count_waiting() == 1, "a call in work")
    cancel_queued = call(server)
    until(lambda: count_pending(server) == 1, "a call in the queue")
    return [cancel_queued, cancel_in_work]


def test_calls_cancelled_over_grpc_are_not_carried_on(one_at_a_time, gate) -> None:
    old_counts = count_calls(one_at_a_time)
    cancel_queued, cancel_in_work = hold_two(call_over_grpc, one_at_a_time, gate)
    cancel_queued()
    cancel_in_work()
    until(lambda: count_cancelled(gate) == 1, "Triton to tell the model of the caller's going")
    gate.open()
    assert read_texts(one_at_a_time) == ["TO05577"] * 2
    assert count_calls(one_at_a_time) - old_counts == {REACHED: 3, CANCELLED: 1, DROPPED: 1}
    assert one_at_a_time.monitor()


def test_calls_whose_http_connection_is_closed_are_carried_on_for_nobody(
    one_at_a_time, gate
) -> None:
    """Triton does not report these to the model. They cost time, but no other call its answer."""
    old_counts = count_calls(one_at_a_time)
    cancel_queued, cancel_in_work = hold_two(call_over_http, one_at_a_time, gate)
    cancel_queued()
    cancel_in_work()
    gate.open()
    assert read_texts(one_at_a_time) == ["TO05577"] * 2
    assert count_calls(one_at_a_time) - old_counts == {REACHED: 4}
    assert one_at_a_time.monitor()


def test_a_caller_whose_time_is_up_over_grpc_has_given_up(one_at_a_time, gate) -> None:
    old_counts = count_calls(one_at_a_time)
    url = f"grpc://{one_at_a_time.options.grpc_url}"
    with PlateClient(url, timeout_s=1) as client, pytest.raises(ServerError):
        client.recognize(STREET)
    until(lambda: count_cancelled(gate) == 1, "Triton to tell the model of the caller's going")
    gate.open()
    assert read_texts(one_at_a_time) == ["TO05577"] * 2
    assert count_calls(one_at_a_time) - old_counts == {REACHED: 3, CANCELLED: 1}


QUEUE = 64


def call(url: str) -> int | str:
    """Return the number of plates, or the error message."""
    with PlateClient(url, timeout_s=60) as client:
        try:
            return len(client.recognize(GREY, request_id="crowd"))
        except Overloaded as error:
            return str(error)


def test_a_call_that_finds_the_queue_full_is_refused_at_once_and_all_others_answered(
    one_at_a_time: Server, gate: CallGate
) -> None:
    options = one_at_a_time.options
    urls = [options.http_url, f"grpc://{options.grpc_url}"]
    with ThreadPoolExecutor(1 + QUEUE) as pool:
        try:
            calls = [pool.submit(call, urls[0])]
            until(lambda: gate.count_waiting() == 1, "a call in work")
            calls += [pool.submit(call, url) for url in islice(cycle(urls), QUEUE)]
            until(lambda: count_pending(one_at_a_time) == QUEUE, f"{QUEUE} calls in the queue")
            refusals = [call(url) for url in urls]
            assert refusals == ["Exceeds maximum queue size (request crowd)"] * 2
            assert not any(waiting_call.done() for waiting_call in calls)
        finally:
            gate.open()
    assert [waiting_call.result() for waiting_call in calls] == [0] * (1 + QUEUE)
    assert [call(url) for url in urls] == [0, 0]


def test_a_server_is_not_told_to_end_before_a_call_in_work_is_answered(
    one_at_a_time: Server, gate: CallGate
) -> None:
    """It must be the last test: the server ends."""
    look_times_s: list[float] = []  # at others
    with (
        PlateClient(one_at_a_time.options.http_url, timeout_s=60) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        call_future = pool.submit(client.recognize, STREET)
        until(lambda: gate.count_waiting() == 1, "a call in work")
        drain_future = pool.submit(
            one_at_a_time.drain, 60, lambda: look_times_s.append(time.monotonic())
        )
        time.sleep(2 * IDLE_S)
        assert client.is_ready()
        opened_s = time.monotonic()
        gate.open()
        assert len(call_future.result()) == 3
        drain_future.result()
    assert not one_at_a_time.is_running()
    assert len([look_s for look_s in look_times_s if look_s < opened_s]) > 1
    assert len([look_s for look_s in look_times_s if look_s > opened_s + IDLE_S]) > 1


def test_what_others_raise_while_a_server_is_drained_comes_after_its_end(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("not a number")

    write_doubling(tmp_path, "double", "TYPE_FP32")
    server = start(on_free_ports(ServerOptions(repository=tmp_path)))
    with pytest.raises(ValueError, match="not a number"):
        server.drain(on_wait=fail)
    assert not server.is_running()
    assert not server.folder.path.exists()
