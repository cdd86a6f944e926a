"""The measured server, and the pipeline of such a server in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import LifoQueue

import torch

from orchestrator.arrays import Array
from orchestrator.contract import MODEL
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.networks.engines import choose
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, Tensors
from orchestrator.serving.supervisor.capacity import Capacity
from orchestrator.serving.supervisor.local_server import on_free_ports, prepare
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import run_server
from orchestrator.settings import Settings
from workshop.benchmarks.bench.metrics import read_url
from workshop.benchmarks.bench.plan import Address, Plan

Parameters = Mapping[str, Mapping[str, str]]
"""The settings of `plate_recognition`, as its config.pbtxt has them."""


@dataclass(frozen=True)
class Pipeline:
    """The pipeline that recognises the pictures: networks, the server's settings, a device."""

    infer: Infer
    settings: Settings
    device: torch.device

    def decode(self, file_bytes: bytes) -> Array:
        """Return the picture of a file, uint8 [H, W, 3] BGR, in the library of Triton's workers."""
        bgr = decode_bgr(file_bytes, max_pixels=self.settings.max_pixels)
        on_cpu = self.device.type == "cpu"
        return bgr if on_cpu else torch.from_numpy(bgr).to(self.device)


def open_pipeline(options: ServerOptions, parameters: Parameters) -> Pipeline:
    """Load the networks as a server with these options does."""
    capacity = options.capacity()
    torch.set_num_threads(capacity.threads)
    torch.set_flush_denormal(True)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    engine = choose(options.engine, on_gpu=on_gpu)
    device = torch.device("cuda" if on_gpu and not engine.is_openvino else "cpu")
    instances = [
        load_networks(options.weights, device, engine, capacity.threads)
        for _ in range(capacity.instances)
    ]
    return Pipeline(share(instances), Settings.from_config(parameters), device)


def choose_variables(options: ServerOptions) -> dict[str, str]:
    """Return the environment variables of a process that opens the pipeline."""
    variables = {"OMP_NUM_THREADS": str(options.capacity().threads)}
    if "OMP_WAIT_POLICY" not in os.environ:
        variables["OMP_WAIT_POLICY"] = "PASSIVE"  # idle threads use no CPU
    if options.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def share(instances: Sequence[Infer]) -> Infer:
    """Return an `Infer` that runs each call on a free instance, as the server does."""
    free: LifoQueue[Infer] = LifoQueue()
    for infer in instances:
        free.put(infer)

    def infer_on_free_instance(model: str, tensors: Tensors) -> Tensors:
        infer = free.get()
        try:
            return infer(model, tensors)
        finally:
            free.put(infer)

    return infer_on_free_instance


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
        yield MeasuredServer(plan.address, _read_facts(plan.address))
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
        yield MeasuredServer(address, facts, server)


def choose_options(plan: Plan) -> ServerOptions:
    """Return the options of our own server, on the default ports."""
    return ServerOptions.given(**vars(plan.server))


def _read_facts(address: Address) -> ServerFacts:
    """Ask the server about itself."""
    url = f"http://{address.http}/v2"
    config = read_url(f"{url}/models/{MODEL}/config", json.loads)
    return ServerFacts(read_url(url, json.loads)["version"], config.get("parameters", {}))
