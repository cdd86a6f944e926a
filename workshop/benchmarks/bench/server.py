"""The measured server: one that the run starts, or a running one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from orchestrator.contract import MODEL
from orchestrator.serving.supervisor.capacity import Capacity
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import run_server
from workshop.benchmarks.bench.metrics import read_url
from workshop.benchmarks.bench.pipelines import Parameters
from workshop.benchmarks.bench.plan import Address, Plan


@dataclass(frozen=True)
class ServerFacts:
    """The facts about the server in a report.

    Attributes:
        parameters: The settings of the model `plate_recognition`, as in its config.pbtxt.
        device: The device that it was started for; empty, like the engine, when it is not ours.
        capacity: The way it shares the CPU or GPU; None when it is not ours.
    """

    version: str
    parameters: Parameters
    device: str = ""
    engine: str = ""
    capacity: Capacity | None = None


@dataclass(frozen=True)
class MeasuredServer:
    """A server under load; `own` is None when it is not ours."""

    address: Address
    facts: ServerFacts
    own: Server | None = None
    admin_key: str = field(default="", repr=False)

    def describe_end(self) -> str:
        """Say why the server no longer runs; empty while it runs or when it is not ours."""
        if self.own is None or self.own.monitor():
            return ""
        if self.own.is_running():
            return "one of the server's workers died"
        return f"tritonserver ended: {self.own.log.reason()}"


@contextmanager
def open_server(plan: Plan) -> Iterator[MeasuredServer]:
    """Start our server, or use the running one, for the length of a `with` block."""
    if plan.address:
        yield MeasuredServer(plan.address, _read_facts(plan.address), admin_key=plan.admin_key)
        return
    options = on_free_ports(prepare(choose_options(plan)))
    with run_server(options) as server:
        address = Address(options.http_url, options.grpc_url, options.metrics_url)
        facts = replace(
            _read_facts(address),
            device=options.device,
            engine=options.choose_engine().value,
            capacity=options.capacity(),
        )
        yield MeasuredServer(address, facts, server, options.admin_key)


def choose_options(plan: Plan) -> ServerOptions:
    """Return the options of our own server, on the default ports."""
    return ServerOptions.given(**vars(plan.server))


def _read_facts(address: Address) -> ServerFacts:
    """Ask the server about itself."""
    url = f"http://{address.http}/v2"
    config = read_url(f"{url}/models/{MODEL}/config", json.loads)
    return ServerFacts(read_url(url, json.loads)["version"], config.get("parameters", {}))
