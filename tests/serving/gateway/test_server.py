"""Addresses of a gateway, and the processes that share them."""

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.gateway.launcher import Gateway, start
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits, to_json
from orchestrator.serving.gateway.server import HttpServer, serve
from orchestrator.serving.gateway.upstream.health import Canary
from orchestrator.serving.supervisor.ports import free_ports
from orchestrator.serving.supervisor.service_loop import ServiceSpec, supervise
from tests.serving.gateway.conftest import Running, Start
from tests.serving.gateway.loops import run
from tests.waiting import until


def run_gateway(options: GatewayOptions) -> str:
    """Return the error of a gateway that cannot start."""
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.serving.gateway"],
        input=to_json(options), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("taken", ["http", "grpc", "metrics"])
def test_a_port_is_not_shared_with_another_service(taken: str, tmp_path: Path, monkeypatch) -> None:
    """The other service shares its port with this user's processes, like a gateway."""
    monkeypatch.setenv("GRPC_VERBOSITY", "NONE")  # as whoever starts it sets it
    names = ("http", "grpc", "metrics")
    addresses = {
        name: Address("127.0.0.1", port) for name, port in zip(names, free_ports(3), strict=True)
    }
    options = GatewayOptions(audit=tmp_path / "audit", **addresses)
    with socket.create_server(("127.0.0.1", addresses[taken].port), reuse_port=True):
        said = run_gateway(options)
    assert said.startswith(f"gateway: {addresses[taken]}: cannot be listened on: ")
    assert said.count("\n") == 1


def test_both_addresses_of_localhost_are_answered(begin: Start) -> None:
    options = begin().gateway.options
    ports = [address.port for address in (options.http, options.grpc, options.metrics)]
    for address in product(("127.0.0.1", "::1"), ports):
        socket.create_connection(address, timeout=5).close()


def test_another_service_may_have_the_other_address(tmp_path: Path) -> None:
    http, grpc, metrics = (Address("127.0.0.1", port) for port in free_ports(3))
    options = GatewayOptions(http=http, grpc=grpc, metrics=metrics, audit=tmp_path / "audit")
    with socket.create_server(("::1", http.port), family=socket.AF_INET6):
        gateway = start(options)
        assert gateway.monitor()
        gateway.stop(timeout_s=0)


@pytest.mark.parametrize("front", ["http", "grpc"])
def test_without_a_free_descriptor_it_waits_for_clients_to_go(begin: Start, front: str) -> None:
    running = begin()
    (worker,) = running.gateway.workers
    used = len(list(Path(f"/proc/{worker.process.pid}/fd").iterdir()))
    resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (used + 5, used + 5))
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
    http, grpc, metrics = (Address("127.0.0.1", port) for port in free_ports(3))
    options = GatewayOptions(
        triton_grpc="127.0.0.1:1", http=http, grpc=grpc, metrics=metrics,
        audit=tmp_path / "audit", limits=Limits(calls=1),
    )  # fmt: skip
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


@pytest.mark.parametrize(
    ("owner", "task"),
    [
        pytest.param(Canary, "watch", id="canary"),
        pytest.param(HttpServer, "serve", id="HTTP server"),
    ],
)
def test_a_task_that_dies_in_the_background_ends_the_process(
    tmp_path: Path, monkeypatch, owner: type, task: str
) -> None:
    async def die(*_: object) -> None:
        raise ValueError("not a number")

    monkeypatch.setattr(owner, task, die)
    http, grpc, metrics = (Address("127.0.0.1", port) for port in free_ports(3))
    options = GatewayOptions(
        triton_grpc="127.0.0.1:1", http=http, grpc=grpc, metrics=metrics,
        audit=tmp_path / "audit", limits=Limits(calls=1),
    )  # fmt: skip
    with pytest.raises(ServerError, match=r"^a task in the background failed: ValueError\('not a"):
        run(serve(options))
