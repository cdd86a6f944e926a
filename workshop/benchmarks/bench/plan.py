"""The plan of a benchmark: the cells to measure, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import check_range
from orchestrator.networks.options import CapacityOptions

HTTP_RAW, HTTP_ENCODED, GRPC = "http-raw", "http-encoded", "grpc"
IN_PROCESS = "in-process"
TRANSPORTS = (HTTP_RAW, HTTP_ENCODED, GRPC, IN_PROCESS)
PLATES = (0, 1, 4, 20)
CONCURRENCIES = (1, 2, 4, 8, 16)
SECONDS, ROUNDS = 1.5, 3
THIN_TRANSPORTS, THIN_CONCURRENCIES = (HTTP_ENCODED, IN_PROCESS), (1, 4)
"""The cells of a thin grid: these transports at every concurrency, the others at these two."""


@dataclass(frozen=True)
class Key:
    """The key of a cell of the grid: the name of a picture, the transport, the calls at once."""

    picture: str
    transport: str
    concurrency: int

    def __str__(self) -> str:
        return f"{self.picture}, {self.transport} x{self.concurrency}"


@dataclass(frozen=True)
class Address:
    """The addresses of a running server: two host:port, and a URL; empty when not known."""

    http: str
    grpc: str = ""
    metrics: str = ""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The part of a plan that its report contains.

    Attributes:
        seconds: The duration of each cell in each round, without warm-up.
        address: The address of a running server; the run starts its own server when None.
        options: The options of the run's own server that are not the default, by name.
    """

    plates: tuple[int, ...] = PLATES
    transports: tuple[str, ...] = TRANSPORTS
    concurrencies: tuple[int, ...] = CONCURRENCIES
    thin: bool = False
    seconds: float = SECONDS
    rounds: int = ROUNDS
    address: Address | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Plan(Conditions):
    """The plan of a run: cells, duration and output; the command's help explains the rest."""

    out: Path
    files: tuple[Path, ...] = ()
    server: CapacityOptions = field(default_factory=CapacityOptions)

    def __post_init__(self) -> None:
        _check_numbers("plates", self.plates, least=0, most=100)
        _check_numbers("concurrency", self.concurrencies, least=1, most=256)
        check_names("transport", self.transports, TRANSPORTS)
        check_range("seconds", self.seconds, 0.1, 3600)
        check_range("rounds", self.rounds, 1, 1000)
        if self.address:
            self._check_address(self.address)

    def _check_address(self, address: Address) -> None:
        if self.server.repository or self.server.pictures:
            raise SettingsError(
                "model-repository, pictures: wanted without --url, because a running server has "
                "its own; got both"
            )
        if not address.grpc and GRPC in self.transports:
            raise SettingsError("grpc-url: wanted host:port for the transport grpc, got none")

    @property
    def conditions(self) -> Conditions:
        """The part that the report contains."""
        defaults = CapacityOptions()
        options = {
            name: str(getattr(value, "value", value))
            for name, value in vars(self.server).items()
            if value != getattr(defaults, name)
        }
        values = {entry.name: getattr(self, entry.name) for entry in fields(Conditions)}
        return Conditions(**{**values, "options": options})

    @property
    def is_served(self) -> bool:
        """True when any cell needs a server."""
        return any(transport != IN_PROCESS for transport in self.transports)


def parse_numbers(text: str, name: str) -> tuple[int, ...]:
    """Parse a list of whole numbers such as `1,2,4`."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"{name}: wanted whole numbers like 1,2,4, got {text!r}") from None


def list_keys(plan: Plan, pictures: Sequence[str]) -> list[Key]:
    """Return every cell, in the order of the report."""
    return [
        Key(picture, transport, concurrency)
        for picture in pictures
        for transport in plan.transports
        for concurrency in sorted(plan.concurrencies)
        if not plan.thin or transport in THIN_TRANSPORTS or concurrency in THIN_CONCURRENCIES
    ]


def _check_numbers(name: str, values: Sequence[int], least: int, most: int) -> None:
    wrong = [value for value in values if not least <= value <= most]
    if wrong or not values or len(set(values)) < len(values):
        got = wrong[0] if wrong else ",".join(map(str, values)) or "none"
        raise SettingsError(f"{name}: wanted different whole numbers, {least} to {most}, got {got}")


def check_names(name: str, values: Sequence[str], choices: Sequence[str]) -> None:
    """Check that all names are known, and that there is at least one."""
    unknown = [value for value in values if value not in choices]
    if unknown or not values:
        raise SettingsError(
            f"{name}: wanted some of {', '.join(choices)}, got {(unknown or ['none'])[0]}"
        )


def locate(url: str | None, grpc_url: str | None, metrics_url: str | None) -> Address | None:
    """Return the addresses of the running server; None when there is no `--url`."""
    if not url and (grpc_url or metrics_url):
        raise SettingsError("url: wanted with --grpc-url and --metrics-url, got none")
    for address in (url or "", grpc_url or ""):
        if "://" in address:
            raise SettingsError(f"url: wanted host:port, got {address}")
    return Address(url, grpc_url or "", metrics_url or "") if url else None


def choose_transports(address: Address | None) -> tuple[str, ...]:
    """Return every transport that the addresses of a running server allow."""
    has_grpc = address is None or bool(address.grpc)
    return tuple(name for name in TRANSPORTS if has_grpc or name != GRPC)
