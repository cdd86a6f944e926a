"""How the server is to be started, and whether it can be on this machine."""

from __future__ import annotations

import errno
import re
import shutil
import socket
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import combinations
from pathlib import Path
from typing import Any

from orchestrator.contract import SHM
from orchestrator.errors import ServerError, SettingsError
from orchestrator.formats import RUSSIA
from orchestrator.loopback import NAMES
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.weights import WEIGHTS
from orchestrator.server.capacity import Capacity, fitting
from orchestrator.server.models import check_distinct, count_workers
from orchestrator.server.repository import REPOSITORY, count_ours, holds_plates
from orchestrator.toml_files import check_range

SHM_PER_WORKER = 16 * 1024 * 1024
"""Bytes: half of it is taken at the start, the other half is for a picture of two megapixels."""
PORTS = ("http_port", "grpc_port", "metrics_port")
DEVICES = ("auto", "cpu", "gpu")


@dataclass(frozen=True)
class ServerOptions:
    """How to start the server.

    Attributes:
        repository: The model repository. Into ours the networks are exported; any other is served
            as it lies.
        beside: Further repositories, whose models are served as they lie.
        weights: Folder of the networks' weights.
        formats: File of what the plates of the country may say.
        host: Address to listen on.
        http_port: HTTP port.
        grpc_port: gRPC port.
        metrics_port: Port of the Prometheus metrics.
        device: `auto` uses GPUs where there are any, `cpu` hides them, `gpu` insists on one.
        engine: What runs the networks; `auto` fits the machine.
        threads: CPU threads of one inference; as many as fit the machine when 0.
        pictures: Pictures in work at once; as many as fit the machine when 0.
        start_timeout_s: How long the models may take to load.
        explicit: Serve the repository as it lies, and load and unload models when asked to. Ours
            are loaded at the start, those of others are not.
        admin_key: Who sends it may load models and change settings; when empty everybody may who
            is on this machine, and nobody where others are listened to.
        traces: URL of an OpenTelemetry collector, OTLP over HTTP; no traces when empty.
        trace_rate: Of so many requests one is traced, and each whose caller traces it.
        flags: Further ones of tritonserver, as they stand.
    """

    repository: Path = REPOSITORY
    beside: tuple[Path, ...] = ()
    weights: Path = WEIGHTS
    formats: Path = RUSSIA
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    device: str = "auto"
    engine: Engine = Engine.AUTO
    threads: int = 0
    pictures: int = 0
    start_timeout_s: float = 180.0
    explicit: bool = False
    admin_key: str = ""
    traces: str = ""
    trace_rate: int = 1
    flags: tuple[str, ...] = ()

    @classmethod
    def given(cls, **values: Any) -> ServerOptions:
        """Return options with these values, and the default for each that is None."""
        return cls(**{name: value for name, value in values.items() if value is not None})

    def choose_engine(self) -> Engine:
        """Return what runs the networks on this machine."""
        return choose(self.engine, on_gpu=self.on_gpu())

    def capacity(self) -> Capacity | None:
        """Return what fits this machine's cores; None on a GPU, where config.pbtxt says it."""
        if self.on_gpu() and not self.choose_engine().is_openvino:
            return None
        return fitting(threads=self.threads, pictures=self.pictures)

    def on_gpu(self) -> bool:
        return self.device == "gpu" or (self.device == "auto" and has_gpu())

    @property
    def served_as_they_lie(self) -> tuple[Path, ...]:
        """The repositories that are not ours."""
        theirs = () if holds_plates(self.repository) else (self.repository,)
        return (*theirs, *self.beside)

    @property
    def is_local(self) -> bool:
        """Only this machine can reach the server."""
        return self.host in NAMES

    @property
    def http_url(self) -> str:
        return f"{_reachable(self.host)}:{self.http_port}"

    @property
    def grpc_url(self) -> str:
        return f"{_reachable(self.host)}:{self.grpc_port}"

    @property
    def metrics_url(self) -> str:
        return f"http://{_reachable(self.host)}:{self.metrics_port}/metrics"


def _reachable(host: str) -> str:
    return "localhost" if host in {"0.0.0.0", "127.0.0.1", "::"} else host


def check(options: ServerOptions) -> ServerOptions:
    """See that this machine can serve so; return the options with the host as an address.

    Raises:
        ServerError: It cannot; the message says why.
        SettingsError: No repository was named that could be served as it lies.
    """
    if options.explicit and options.repository == REPOSITORY:
        raise SettingsError(
            "to serve a model repository as it lies, name one that plates export --out wrote: "
            "--model-repository FOLDER"
        )
    check_distinct((options.repository, *options.beside))
    check_texts(options)
    check_device(options.device)
    options = replace(options, host=address_of(options.host))
    check_localhost(options)
    check_ports(options)
    check_shared_memory(options)
    return options


def address_of(host: str) -> str:
    """Return a host's IPv4 address; Triton's HTTP would take a name for 255.255.255.255.

    Raises:
        ServerError: It has none.
    """
    try:
        found = socket.getaddrinfo(host or " ", None, socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ServerError(
            f"host: wanted an IPv4 address of this machine or a name of it, got {host!r}"
        ) from error
    return str(found[0][4][0])


def check_localhost(options: ServerOptions) -> None:
    """See that this machine knows the name that its own callers use; a bare container may not.

    Raises:
        ServerError: It does not.
    """
    try:
        socket.getaddrinfo(options.http_url.rpartition(":")[0], options.http_port)
    except OSError as error:
        raise ServerError(
            f"{options.http_url}: this machine does not know the name ({error.strerror}); "
            "add the line 127.0.0.1 localhost to /etc/hosts"
        ) from error


def check_ports(options: ServerOptions) -> None:
    """See that the three ports are free.

    Raises:
        ServerError: One of them is no port, the same as another, in use, or not to be had.
    """
    for name in PORTS:
        check_range(name, getattr(options, name), 1, 65535, ServerError)
    for one, other in combinations(PORTS, 2):
        if getattr(options, one) == getattr(options, other):
            raise ServerError(
                f"{other}: wanted another port than {one}, got {getattr(options, other)} for both"
            )
    for name in PORTS:
        _check_free(name, getattr(options, name), options.host)


def _check_free(name: str, port: int, host: str) -> None:
    flag = f"choose another with --{name.replace('_', '-')}"
    try:
        _bind(socket.AF_INET, host, port)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            message = f"host: wanted an address of this machine, got {host}"
        elif error.errno == errno.EACCES:
            message = f"{name}: wanted a port that this user may open, got {port}; {flag}"
        else:
            message = f"{name}: wanted a free port, got {port} ({error.strerror}); {flag}"
        raise ServerError(message) from error
    if _reachable(host) == "localhost" and _is_taken("::1", port):
        raise ServerError(
            f"{name}: wanted a free port, got {port} (in use at ::1, where callers of localhost "
            f"may look first); {flag}"
        )


def _bind(family: socket.AddressFamily, address: str, port: int) -> None:
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))


def _is_taken(address: str, port: int) -> bool:
    try:
        _bind(socket.AF_INET6, address, port)
    except OSError as error:  # or this machine has no IPv6
        return error.errno == errno.EADDRINUSE
    return False


def check_shared_memory(options: ServerOptions, folder: Path = SHM) -> None:
    """See that the workers have room to exchange tensors; a container gets 64 MB unless told.

    Raises:
        ServerError: They have not.
    """
    workers = sum(map(count_workers, options.served_as_they_lie))
    if holds_plates(options.repository):
        capacity = options.capacity()
        if capacity is None:
            return
        workers += count_ours(capacity)
    wanted, free = workers * SHM_PER_WORKER, _free_bytes(folder)
    if free < wanted:
        raise ServerError(
            f"{folder}: wanted {wanted >> 20} MB for {workers} workers, got {free >> 20} MB; "
            "with Docker use --shm-size=512m, in Kubernetes mount a memory volume there"
        )


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise ServerError(
            f"{folder}: wanted shared memory for the workers, got {error.strerror}; "
            "mount a memory volume there"
        ) from error


def has_gpu() -> bool:
    """Tell whether there is a GPU that PyTorch was built for; asking it would take a second."""
    is_cpu_build = metadata.version("torch").endswith("+cpu")
    return not is_cpu_build and any(Path("/dev").glob("nvidia[0-9]*"))


def check_texts(options: ServerOptions) -> None:
    """See that Triton can be told the texts among the options on its command line.

    Raises:
        ServerError: It would misunderstand one.
    """
    if options.traces and not re.fullmatch(r"https?://[^\s,]+", options.traces):
        raise ServerError(f"traces: wanted http://host:port/v1/traces, got {options.traces}")
    if not re.fullmatch(r"[\w.-]*", options.admin_key):  # a secret: not repeated
        raise ServerError("admin key: wanted letters, digits, - and ., got other characters")


def check_device(device: str) -> None:
    """See that the device can be had.

    Raises:
        ServerError: Not a known device, or a GPU where there is none.
    """
    if device not in DEVICES:
        raise ServerError(f"device: wanted one of {', '.join(DEVICES)}, got {device}")
    if device == "gpu":
        import torch

        if not torch.cuda.is_available():
            raise ServerError("device: wanted a GPU, got none that PyTorch can use")
