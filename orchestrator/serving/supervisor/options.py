"""The options for the start of a server, and the choice of what fits this machine."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.host.loopback import is_own, to_literal
from orchestrator.host.option_fields import check_ranges
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.options import REPOSITORY_OPTION, WEIGHTS_OPTION, CapacityOptions
from orchestrator.networks.weights import WEIGHTS
from orchestrator.serving.supervisor.capacity import Capacity, fitting, fitting_gpu
from orchestrator.serving.supervisor.gpu import has_gpu
from orchestrator.serving.supervisor.models.export_cache import ModelSource
from orchestrator.serving.supervisor.models.plate_models import (
    REPOSITORY,
    holds_plates,
    is_laid_out,
)
from orchestrator.serving.supervisor.ports import ListenAddress, free_ports

LONGER_ON_A_GPU = 3
"""On a GPU the start may take so many times as long: each of eight workers makes a CUDA context and
warms up, and a driver newer than PyTorch compiles kernels first."""
PORTS = ("http_port", "grpc_port", "metrics_port")
ADMIN_HEADER = "plates-admin-key"
"""Header of an administrator's request, over HTTP."""
ADMIN_METADATA = f"triton-grpc-protocol-{ADMIN_HEADER}"
"""Header of an administrator's request, over gRPC."""
CALLER_HEADER = "plates-caller-key"
"""Header of a call from the gateway, over HTTP."""
CALLER_METADATA = f"triton-grpc-protocol-{CALLER_HEADER}"
"""Header of a call from the gateway, over gRPC."""


TRITON = partial(typer.Option, rich_help_panel="Triton")


@dataclass(frozen=True, kw_only=True)
class ServerOptions(CapacityOptions):
    """The options of a server. Those with a help text are options of `plates serve`.

    Attributes:
        host: Address to listen on.
        grpc_port: gRPC port.
        metrics_port: Port of the Prometheus metrics.
        start_timeout_s: How long the models may take to load on a CPU.
        admin_key: Key of administrators, who may load models and change settings; random unless
            given.
        caller_key: Key that every call must send; empty means that calls need none. Only the
            gateway has it.
        flags: Further options of tritonserver, unchanged.
        variables: Further variables of its environment.
    """

    weights: Annotated[Path, WEIGHTS_OPTION] = WEIGHTS
    repository: Annotated[Path, REPOSITORY_OPTION] = REPOSITORY
    beside: Annotated[
        tuple[Path, ...],
        TRITON(help="A further repository whose models are served, too; repeatable."),
    ] = ()
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    start_timeout_s: float = 180.0
    explicit: Annotated[
        bool,
        TRITON(
            "--explicit",
            help="Serve the repository in place: that of `plates export --out`, or any other. "
            "Models are loaded and unloaded over Triton's repository API.",
        ),
    ] = False
    admin_key: str = field(default_factory=secrets.token_urlsafe, repr=False)
    caller_key: str = field(default="", repr=False)
    traces: Annotated[
        str,
        TRITON(
            metavar="URL",
            help="OpenTelemetry collector to send traces to: http://host:4318/v1/traces.",
        ),
    ] = ""
    trace_rate: Annotated[
        int, TRITON(min=1, metavar="COUNT", help="One of this many requests is traced.")
    ] = 1
    flags: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    tritonserver: Annotated[
        Path | None,
        TRITON(help="Program of an installed Triton; without it, the embedded one runs."),
    ] = None
    trust_network: Annotated[
        bool,
        TRITON(
            "--trust-network",
            help="With --no-gateway: every host on this network may call Triton without a key.",
        ),
    ] = False

    def __post_init__(self) -> None:
        check_ranges(self)

    @classmethod
    def given(cls, **values: Any) -> ServerOptions:
        """Return options with these values, and the default for each that is None."""
        return cls(**{name: value for name, value in values.items() if value is not None})

    def choose_engine(self) -> Engine:
        """Return the engine that runs the networks on this machine."""
        return choose(self.engine, on_gpu=self.on_gpu())

    def source(self) -> ModelSource:
        """Return the inputs from which our models are made."""
        return ModelSource(self.repository, self.weights, self.choose_engine(), self.formats)

    def capacity(self) -> Capacity:
        """Return the capacity of this machine's GPU, or of its cores."""
        numbers = {
            "threads": self.threads,
            "instances": self.instances,
            "pictures": self.pictures,
        }
        if self.on_gpu() and not self.choose_engine().is_openvino:
            fits = fitting_gpu(**numbers, pictures_on_gpu=self.pictures_on_gpu)
        else:
            fits = fitting(**numbers, is_one_model=self.one_model)
        return replace(fits, gateway_queues=bool(self.caller_key))

    @property
    def is_made_here(self) -> bool:
        """The models are made from the repository and the weights, not served as they lie."""
        ours = holds_plates(self.repository) and not is_laid_out(self.repository)
        return ours and not self.explicit

    def on_gpu(self) -> bool:
        return self.device == "gpu" or (self.device == "auto" and has_gpu())

    @property
    def longest_start_s(self) -> float:
        """How long the models may take to load on the device, in seconds."""
        return self.start_timeout_s * (LONGER_ON_A_GPU if self.on_gpu() else 1)

    @property
    def repositories(self) -> tuple[Path, ...]:
        """All repositories that are served."""
        return (self.repository, *self.beside)

    @property
    def served_as_they_lie(self) -> tuple[Path, ...]:
        """The repositories that are not ours."""
        theirs = () if holds_plates(self.repository) else (self.repository,)
        return (*theirs, *self.beside)

    @property
    def is_local(self) -> bool:
        """Only this machine can reach the server."""
        return is_own(self.host)

    @property
    def admin_headers(self) -> dict[str, str]:
        """Headers of an administrator's request, over HTTP or gRPC."""
        return {ADMIN_HEADER: self.admin_key, ADMIN_METADATA: self.admin_key}

    @property
    def caller_headers(self) -> dict[str, str]:
        """Headers of a call, over HTTP or gRPC."""
        if not self.caller_key:
            return {}
        return {CALLER_HEADER: self.caller_key, CALLER_METADATA: self.caller_key}

    @property
    def listening(self) -> tuple[ListenAddress, ...]:
        """The addresses and ports on which the server shall listen."""
        http = "admin_port" if self.caller_key else "http_port"
        names = (http, "grpc_port", "metrics_port")
        return tuple(
            ListenAddress(name, self.host, getattr(self, port))
            for name, port in zip(names, PORTS, strict=True)
        )

    @property
    def http_url(self) -> str:
        return self._url(self.http_port)

    @property
    def grpc_url(self) -> str:
        return self._url(self.grpc_port)

    @property
    def metrics_url(self) -> str:
        return f"http://{self._url(self.metrics_port)}/metrics"

    def _url(self, port: int) -> str:
        host = to_literal(self.host)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def fill_ports(options: ServerOptions, taken_ports: Sequence[int] = ()) -> ServerOptions:
    """Return the options with a free port for each that is 0.

    Args:
        options: Options with any number of ports that are 0.
        taken_ports: Ports that another service will soon use.
    """
    unset = [name for name in PORTS if getattr(options, name) == 0]
    taken_ports = [*taken_ports, *(address.port for address in options.listening)]
    free = (port for port in free_ports(len(unset) + len(taken_ports)) if port not in taken_ports)
    ports: dict[str, Any] = dict(zip(unset, free, strict=False))
    return replace(options, **ports)
