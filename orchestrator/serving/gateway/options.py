"""Options of the gateway: its addresses, its files and its limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from orchestrator.contract import MODEL, PLATE_READER
from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import build, check_range

MIB = 1024 * 1024
WORKED_OUT = ("calls", "picture_mb")
"""Limits that are worked out from the machine if they are 0."""
UPLOAD_S, WORK_S = 5.0, 15.0
"""At shutdown: seconds for the rest of a body that is still sent, and for calls in work."""


@dataclass(frozen=True)
class Limits:
    """The limits for all callers together and for each client. Defaults fit a small camera site.

    Attributes:
        body_mb: Largest body of a call, MiB: the pixels of a picture of 24 megapixels fit into it.
            No body is larger than `memory_mb`.
        pixels: Largest picture, width x height. The model's own limit also applies.
        crop_pixels: Largest crop of a plate for `plate_reader`.
        pictures: Most pictures in one multipart body.
        header_kb: Longest request line and headers together, KiB.
        header_s: Timeout for the request line and headers.
        body_s: Timeout for a body.
        write_s: Timeout for a caller to read an answer.
        idle_s: Longest time that a connection may be idle.
        connections: Most open HTTP connections. If there are more, the longest idle one is closed.
            gRPC may have as many calls at once.
        client_connections: Most open HTTP connections from one address.
        calls: Most calls at Triton at once. If 0, four times the pictures that it has in work.
        waiting: Most calls in the queue.
        wait_s: Longest time that a call may wait in the queue.
        call_s: Timeout for Triton's answer.
        away_s: Longest time for retries of a call that met no Triton, or whose worker died.
        memory_mb: Most memory for the bodies of all calls together, MiB.
        picture_mb: Most memory for all calls in work together, MiB. Most of it holds decoded
            pictures. If 0, there is no limit, and `plates serve` sets one from the memory.
        client_calls: Most calls of one client at once, including calls that wait.
        client_rate: Most calls of one client a second. As many may come at once after a pause.
    """

    body_mb: int = 80
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

    @property
    def body_bytes(self) -> int:
        return min(self.body_mb, self.memory_mb) * MIB

    @property
    def memory_bytes(self) -> int:
        return self.memory_mb * MIB

    @property
    def picture_bytes(self) -> int:
        return self.picture_mb * MIB or sys.maxsize

    def share(self, processes: int) -> Limits:
        """Return the limits of each process. The limits of one client are not divided.

        All connections of a client may reach the same process.
        """
        whole = ["calls", "waiting", "memory_mb", "connections"]
        whole += ["picture_mb"] if self.picture_mb else []
        parts = {name: max(1, getattr(self, name) // processes) for name in whole}
        parts["memory_mb"] = max(parts["memory_mb"], self.body_mb)
        return replace(self, **parts)

    def updated(self, texts: tuple[str, ...]) -> Limits:
        """Return these limits with changes, each change as `name=value`.

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
    """An address to listen at.

    Attributes:
        host: An IP address of this machine; `::` for all of IPv4 and IPv6.
        port: TCP port.
    """

    host: str
    port: int

    @property
    def twin(self) -> Address | None:
        """The same port at the IPv6 address of `localhost`, if this is its IPv4 address.

        Some clients resolve the name to IPv6 first, and try nothing else.
        """
        return Address("::1", self.port) if self.host == "127.0.0.1" else None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class GatewayOptions:
    """The options of the gateway.

    Attributes:
        triton_http: `host:port` of Triton's HTTP, on this machine.
        triton_grpc: `host:port` of Triton's gRPC.
        triton_metrics: URL of Triton's metrics.
        triton_headers: Headers that Triton requires with each call, over HTTP or gRPC.
        has_plates: Triton has our models, so REST and the page are served.
        models: Further models that callers may reach, over KServe v2.
        http: Address for HTTP: KServe v2, REST, metrics and the documentation.
        grpc: Address for gRPC. If None, there is no gRPC.
        metrics: Separate address of the metrics for Prometheus. If None, there is none.
        allowed_hosts: Further names that a Host header may have.
        cors_origins: Other sites whose pages may call, `https://shop.example`.
        trusted_proxies: Addresses, or networks, of proxies that tell their clients' addresses.
        keys: File of the API keys.
        wants_keys: Every call needs a key.
        certificate: File of the TLS certificate and its chain. If None, there is no TLS.
        private_key: File of the certificate's key.
        audit: File of the audit log. If None, standard output.
        processes: Number of processes that share the work.
        cameras: File of the cameras whose passes are served, too. If None, none are.
        canary: Folder of the picture for health checks, see `orchestrator.host.canary`.
            Without one, any answer is good.
        limits: Limits for callers.
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
    trusted_proxies: tuple[str, ...] = ()
    keys: Path | None = None
    wants_keys: bool = False
    certificate: Path | None = None
    private_key: Path | None = None
    audit: Path | None = None
    processes: int = 1
    cameras: Path | None = None
    canary: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def has_keys(self) -> bool:
        """True if there are keys, or every call needs one."""
        return self.keys is not None or self.wants_keys

    @property
    def served(self) -> tuple[str, ...]:
        """Names of all models that callers may reach."""
        return (*((MODEL, PLATE_READER) if self.has_plates else ()), *self.models)


def to_json(options: GatewayOptions) -> str:
    """Write options as one line of JSON."""
    return json.dumps(asdict(options), default=str)


def from_json(text: str) -> GatewayOptions:
    """Read options that `to_json` wrote.

    Raises:
        SettingsError: The text is not JSON, or does not hold these options.
    """
    try:
        table = json.loads(text)
    except json.JSONDecodeError as error:
        raise SettingsError(f"gateway options: wanted JSON, got {error}") from error
    return build(GatewayOptions, table)
