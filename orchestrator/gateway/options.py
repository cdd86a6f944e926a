"""How the gateway is to be started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from orchestrator.contract import MODEL, PLATE_READER
from orchestrator.errors import SettingsError
from orchestrator.toml_files import check_range

MIB = 1024 * 1024
WORKED_OUT = ("calls", "picture_mb")
"""Limits that depend on the machine where they are 0."""


@dataclass(frozen=True)
class Limits:
    """What callers may ask for, of everybody together and of each client; a small camera site's.

    Attributes:
        body_mb: Largest body of a call, MiB.
        pixels: Largest picture, width x height; the model's own limit holds, too.
        crop_pixels: Largest crop of a plate for `plate_reader`.
        pictures: Most pictures in one multipart body.
        header_kb: Longest request line and headers together, KiB.
        header_s: How long they may take.
        body_s: How long a body may take.
        write_s: How long a caller may take to read an answer.
        idle_s: How long a connection may do nothing.
        connections: Of HTTP open at once; of more the one that has done nothing for longest is
            closed. As many calls may be under way over gRPC.
        client_connections: The same of one address.
        calls: Handed to Triton at once; 0: four times the pictures that it has in work.
        waiting: Calls that wait for their turn.
        wait_s: How long a call may wait for its turn.
        call_s: How long Triton may take.
        away_s: How long a call is sent again that met no Triton, or a worker that died.
        memory_mb: Bodies of all calls together, MiB.
        picture_mb: Memory of all calls in work together, MiB, most of it their unpacked pictures;
            0: no limit, and `plates serve` works one out from the memory that there is.
        client_calls: Calls of one client at once, those that wait included.
        client_rate: Calls of one client a second; as many may come at once after a pause.
    """

    body_mb: int = 32
    pixels: int = 50_000_000
    crop_pixels: int = 1_000_000
    pictures: int = 16
    header_kb: int = 32
    header_s: float = 10.0
    body_s: float = 30.0
    write_s: float = 30.0
    idle_s: float = 75.0
    connections: int = 1000
    client_connections: int = 250
    calls: int = 0
    waiting: int = 96
    wait_s: float = 30.0
    call_s: float = 60.0
    away_s: float = 30.0
    memory_mb: int = 256
    picture_mb: int = 0
    client_calls: int = 64
    client_rate: float = 200.0

    def __post_init__(self) -> None:
        for one in fields(self):
            least = 0 if one.name in WORKED_OUT else 0.001 if one.type == "float" else 1
            check_range(one.name, getattr(self, one.name), least, 1_000_000_000)
        if self.memory_mb < self.body_mb:
            raise SettingsError(
                f"memory_mb: wanted room for a body of {self.body_mb}, got {self.memory_mb}"
            )

    @property
    def body_bytes(self) -> int:
        return self.body_mb * MIB

    @property
    def memory_bytes(self) -> int:
        return self.memory_mb * MIB

    @property
    def picture_bytes(self) -> int:
        return self.picture_mb * MIB or sys.maxsize

    def share(self, processes: int) -> Limits:
        """Return what each of so many processes may have; a client's share is not divided.

        A client's connections may all come to one process.
        """
        whole = ["calls", "waiting", "memory_mb", "connections"]
        whole += ["picture_mb"] if self.picture_mb else []
        parts = {name: max(1, getattr(self, name) // processes) for name in whole}
        parts["memory_mb"] = max(parts["memory_mb"], self.body_mb)
        return replace(self, **parts)

    def updated(self, texts: tuple[str, ...]) -> Limits:
        """Return these limits with others, each as `name=value`.

        Raises:
            SettingsError: An unknown name, or a value that does not parse or is out of range.
        """
        kinds = {one.name: int if one.type == "int" else float for one in fields(self)}
        given: dict[str, float] = {}
        for text in texts:
            name, _, value = text.partition("=")
            if name not in kinds:
                raise SettingsError(f"limit: wanted some of {', '.join(kinds)}, got {name!r}")
            try:
                given[name] = kinds[name](value)
            except ValueError:
                raise SettingsError(f"limit {name}: wanted a number, got {value!r}") from None
        return replace(self, **given)  # type: ignore[arg-type]  # numbers by name


@dataclass(frozen=True)
class Address:
    """Where to listen.

    Attributes:
        host: An IP address of this machine; `::` for all of IPv4 and IPv6.
        port: TCP port.
    """

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class GatewayOptions:
    """How to start the gateway.

    Attributes:
        triton_http: `host:port` of Triton's HTTP, on this machine.
        triton_grpc: `host:port` of its gRPC.
        triton_metrics: URL of its metrics.
        triton_headers: Headers that it wants of each call, over HTTP or gRPC.
        has_plates: Triton has our models: REST and the page are served.
        models: Further models that callers may reach, over KServe v2.
        http: Where to listen for HTTP: KServe v2, REST, metrics and the documentation.
        grpc: Where to listen for gRPC; nowhere when None.
        metrics: Where metrics have a port of their own, for Prometheus; nowhere when None.
        allowed_hosts: Further names that a Host header may have.
        cors_origins: Other sites whose pages may call, `https://shop.example`.
        keys: File of the API keys.
        wants_keys: Every call needs a key.
        certificate: File of the TLS certificate and those that sign it; no TLS when None.
        private_key: File of the certificate's key.
        audit: File for the line of each call; standard output when None.
        processes: How many share the work.
        canary: Folder of the picture that must be read now and then, see `orchestrator.canary`;
            without one any answer will do.
        limits: What callers may ask for.
    """

    triton_http: str = ""
    triton_grpc: str = ""
    triton_metrics: str = ""
    triton_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_plates: bool = True
    models: tuple[str, ...] = ()
    http: Address = Address("127.0.0.1", 8000)
    grpc: Address | None = Address("127.0.0.1", 8001)
    metrics: Address | None = Address("127.0.0.1", 8002)
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    keys: Path | None = None
    wants_keys: bool = False
    certificate: Path | None = None
    private_key: Path | None = None
    audit: Path | None = None
    processes: int = 1
    canary: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def served(self) -> tuple[str, ...]:
        """Names of all models that callers may reach."""
        return (*((MODEL, PLATE_READER) if self.has_plates else ()), *self.models)
