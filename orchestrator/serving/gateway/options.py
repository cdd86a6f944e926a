"""Options of the gateway: its addresses, its files and its limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

from orchestrator.contract import COUNTRY_OUTPUTS, MODEL, OUTPUTS, PLATE_READER
from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import check_ranges
from orchestrator.host.toml_files import build
from orchestrator.serving.gateway.caller_options import CallerOptions

MIB = 1024 * 1024
UPLOAD_S, WORK_S = 5.0, 15.0
"""Seconds at shutdown for the rest of incoming bodies, and for calls in work."""


CLIENT_SHARE = 3 / 4
"""Largest part of the places of a process that one client takes; a key may have its own number."""
MAX_LIMIT = 1_000_000_000
MAX_OPTION = 2**31 - 1
"""Largest option that gRPC and sockets take; a limit in bytes or milliseconds may be larger."""
COUNT = partial(typer.Option, min=1, max=MAX_LIMIT)
COUNT_OR_FITTING = partial(typer.Option, min=0, max=MAX_LIMIT)  # 0: what fits the machine
SECONDS = partial(typer.Option, min=0.001, max=MAX_LIMIT)


@dataclass(frozen=True)
class Limits:
    """The limits for all callers together and for each client. Defaults fit a small camera site.

    The help of each limit is also its row in docs/security.md.
    """

    body_mb: Annotated[
        int,
        COUNT(
            help="largest body, MiB; refused before it is read. The pixels of a picture of 24 "
            "megapixels fit. Where memory or `/dev/shm` is too small for one such call, it is "
            "lowered at the start, but not below 32, and the log says so. Never more than "
            "`memory_mb`"
        ),
    ] = 80
    pixels: Annotated[
        int,
        COUNT(
            help="largest picture, width x height, by its header; refused before it is unpacked. "
            "The model's own limit also applies"
        ),
    ] = 50_000_000
    crop_pixels: Annotated[
        int, COUNT(help="largest crop of a plate for `plate_reader`, width x height")
    ] = 1_000_000
    pictures: Annotated[int, COUNT(help="pictures in one form")] = 16
    header_kb: Annotated[
        int,
        COUNT(
            help="request line and headers, KiB; at most 100 fields, and 8 KiB of content type, in "
            "any case"
        ),
    ] = 32
    header_s: Annotated[float, SECONDS(help="seconds for the request line and headers")] = 10.0
    body_s: Annotated[float, SECONDS(help="seconds for the body")] = 30.0
    write_s: Annotated[
        float,
        SECONDS(help="seconds for a caller to read its answer; then the connection is closed"),
    ] = 30.0
    idle_s: Annotated[float, SECONDS(help="seconds that a connection may do nothing")] = 75.0
    connections: Annotated[
        int,
        COUNT(
            help="connections of HTTP open at once, then the one that is idle for longest is "
            "closed; of gRPC, then the next is closed; and calls over gRPC at once"
        ),
    ] = 1000
    client_connections: Annotated[
        int,
        COUNT(
            help="connections of HTTP, and calls over gRPC, open at once from one address; behind "
            "a balancer all callers have one"
        ),
    ] = 250
    calls: Annotated[
        int,
        COUNT_OR_FITTING(help="calls with Triton at once; 0: four times the pictures in work"),
    ] = 0
    waiting: Annotated[int, COUNT(help="calls that wait for their turn")] = 96
    wait_s: Annotated[float, SECONDS(help="seconds that a call may wait")] = 30.0
    call_s: Annotated[float, SECONDS(help="seconds that Triton may take for an answer")] = 60.0
    away_s: Annotated[
        float,
        SECONDS(help="seconds that a call is sent again while Triton, or a worker of it, is away"),
    ] = 30.0
    memory_mb: Annotated[
        int,
        COUNT(
            help="bodies of all calls, MiB; a fifth of `picture_mb` where that is less. Over "
            "HTTP, the bytes that have arrived count"
        ),
    ] = 256
    picture_mb: Annotated[
        int,
        COUNT_OR_FITTING(
            help="memory of all calls in work, MiB, mostly unpacked pictures; 0: four sevenths of "
            "what the service leaves of the memory of the container or machine"
        ),
    ] = 0
    client_calls: Annotated[
        int,
        COUNT(
            help="calls of one client at once, those that wait included; in one process never more "
            "than three quarters of its part of `calls` and `waiting`"
        ),
    ] = 64
    client_rate: Annotated[
        float,
        SECONDS(help="calls of one client a second; as many may come at once after a pause"),
    ] = 200.0

    def __post_init__(self) -> None:
        check_ranges(self)

    @cached_property
    def body_bytes(self) -> int:
        return min(self.body_mb, self.memory_mb) * MIB

    @cached_property
    def memory_bytes(self) -> int:
        return self.memory_mb * MIB

    @cached_property
    def picture_bytes(self) -> int:
        return self.picture_mb * MIB or sys.maxsize

    def share(self, processes: int) -> Limits:
        """Return the limits of each process. The limits of one client are not divided.

        All connections of a client may reach the same process. So that others have places there,
        too, a client may have `CLIENT_SHARE` of them.
        """
        whole = ["calls", "waiting", "memory_mb", "connections"]
        whole += ["picture_mb"] if self.picture_mb else []
        parts = {name: max(1, getattr(self, name) // processes) for name in whole}
        parts["memory_mb"] = max(parts["memory_mb"], self.body_mb)
        places = int(CLIENT_SHARE * (parts["calls"] + parts["waiting"]))
        parts["client_calls"] = min(self.client_calls, max(1, places))
        return replace(self, **parts)

    def updated(self, texts: tuple[str, ...]) -> Limits:
        """Return these limits with changes, each change as `name=value`.

        Raises:
            SettingsError: An unknown name, or a value that does not parse or is out of range.
        """
        kinds = get_type_hints(Limits)
        changes: dict[str, float] = {}
        for text in texts:
            name, _, value = text.partition("=")
            if name not in kinds:
                raise SettingsError(f"limit: wanted some of {', '.join(kinds)}, got {name!r}")
            try:
                changes[name] = kinds[name](value)
            except ValueError:
                raise SettingsError(f"limit {name}: wanted a number, got {value!r}") from None
        return replace(self, **changes)  # type: ignore[arg-type]  # numbers by name


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
        """This port at the IPv6 address of `localhost`, if the host is its IPv4 address.

        Some clients resolve the name to IPv6 first, and try nothing else.
        """
        return Address("::1", self.port) if self.host == "127.0.0.1" else None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class GatewayOptions(CallerOptions):
    """The options of the gateway, as its processes read them.

    Attributes:
        triton_http: `host:port` of Triton's HTTP, on this machine.
        triton_grpc: `host:port` of Triton's gRPC.
        triton_metrics: URL of Triton's metrics.
        triton_headers: Headers that Triton requires with each call, over HTTP or gRPC.
        has_plates: Triton has our models, so REST and the page are served.
        has_countries: Our model has the outputs about countries, too.
        http: Address for HTTP: KServe v2, REST, metrics and the documentation.
        grpc: Address for gRPC. If None, there is no gRPC.
        metrics: Separate address of the metrics for Prometheus; None for no such address.
        wants_keys: Every call needs a key.
        canary: Folder of the picture for health checks, see `orchestrator.host.canary`.
            Without one, any answer is good.
        worker_metrics: Folder of the metrics that Triton's workers share, see
            `orchestrator.triton.shared_metrics`. Without one, they are on Triton's page.
        limits: Limits for callers.
    """

    triton_http: str = ""
    triton_grpc: str = ""
    triton_metrics: str = ""
    triton_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_plates: bool = True
    has_countries: bool = False
    http: Address = Address("127.0.0.1", 8000)
    grpc: Address | None = Address("127.0.0.1", 8001)
    metrics: Address | None = Address("127.0.0.1", 8002)
    wants_keys: bool = False
    canary: Path | None = None
    worker_metrics: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def has_keys(self) -> bool:
        """True if there are keys, or every call needs one."""
        return self.keys is not None or self.wants_keys

    @cached_property
    def served_models(self) -> tuple[str, ...]:
        """Names of all models that callers may reach."""
        return (*((MODEL, PLATE_READER) if self.has_plates else ()), *self.models)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs of `plate_recognition` about plates."""
        return (*OUTPUTS, *(COUNTRY_OUTPUTS if self.has_countries else ()))


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
