"""Gateways in their own processes, in front of a fake Triton that the test controls."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import json
import socket
import struct
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import pytest

from orchestrator.serving.gateway.launcher import Gateway, start
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from orchestrator.serving.supervisor.ports import free_ports
from tests.serving.gateway.fake_triton import FakeTriton, run_fake
from tests.waiting import until

INFER = "/v2/models/plate_recognition/infer"
GREY = cv2.imencode(".jpg", np.full((30, 40, 3), 128, np.uint8))[1].tobytes()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines, by the fixture `run_coroutine` where a module has one."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    pyfuncitem.funcargs.get("run_coroutine", run_for_20_s)(test)
    return True


def run_for_20_s(test: Coroutine[object, object, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))  # a lost slot fails the test and hangs nothing


@dataclass
class Running:
    """A gateway and the fake behind it."""

    gateway: Gateway
    triton: FakeTriton
    audit: Path
    connections: list[http.client.HTTPConnection] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.gateway.options.http.port

    def connect(self, source: str = "127.0.0.1") -> http.client.HTTPConnection:
        """Open a connection from an address of this machine."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=20, source_address=(source, 0)
        )
        self.connections.append(connection)
        return connection

    def send(self, source: str = "127.0.0.1", **headers: str) -> http.client.HTTPConnection:
        """Send an infer call and do not wait for its answer."""
        body, lengths = infer_call(GREY)
        connection = self.connect(source)
        connection.request("POST", INFER, body, lengths | headers)
        return connection

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = self.connect()
        connection.request(method, path, body, headers)
        return answer_of(connection)

    def metrics(self) -> bytes:
        """Return the metrics, which even an overloaded service returns."""
        url = f"http://{self.gateway.options.metrics}/metrics"
        with urllib.request.urlopen(url) as answer:
            return answer.read()

    def socket(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 20, (source, 0))


def answer_of(connection: http.client.HTTPConnection) -> tuple[int, dict[str, str], bytes]:
    answer = connection.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, headers, answer.read()


def infer_call(picture: bytes) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of an infer call that asks for texts."""
    element = struct.pack("<I", len(picture)) + picture
    encoded = {"name": "encoded_image", "datatype": "BYTES", "shape": [1]}
    tensor = encoded | {"parameters": {"binary_data_size": len(element)}}
    call = json.dumps({"id": "gate-7", "inputs": [tensor], "outputs": [{"name": "texts"}]}).encode()
    return call + element, {"Inference-Header-Content-Length": str(len(call))}


Start = Callable[..., Running]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Start]:
    """Starts gateways, which end with the test."""
    with gateways(tmp_path) as start_gateway:
        yield start_gateway


@contextmanager
def gateways(folder: Path) -> Iterator[Start]:
    """Yield a function that starts gateways with a fake Triton each; they end with the block."""
    with ExitStack() as stack:

        def run(limits: Limits | None = None, **options: object) -> Running:
            triton_port, http_port, grpc_port, metrics_port = free_ports(4)
            audit = folder / f"audit-{http_port}.jsonl"
            gateway_options = GatewayOptions(
                triton_http="127.0.0.1:1",
                triton_grpc=f"127.0.0.1:{triton_port}",
                triton_metrics="http://127.0.0.1:1/metrics",
                http=Address("127.0.0.1", http_port),
                grpc=Address("127.0.0.1", grpc_port),
                metrics=Address("127.0.0.1", metrics_port),
                audit=audit,
                limits=limits or Limits(calls=4),
                **options,
            )
            gateway = start(gateway_options)
            stack.callback(gateway.stop)
            fake = stack.enter_context(run_fake(triton_port))  # no process forks beside its threads
            running = Running(gateway, fake, audit)
            stack.callback(lambda: [connection.close() for connection in running.connections])
            until(lambda: running.ask("GET", "/readyz")[0] == 200, "a ready gateway")
            return running

        yield run
