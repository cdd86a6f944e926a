"""What is to be measured, and in which order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine
from orchestrator.toml_files import check_range

HTTP_RAW, HTTP_ENCODED, GRPC, GRPC_SHM = "http-raw", "http-encoded", "grpc", "grpc-shm"
IN_PROCESS = "in-process"
OVER_GRPC = (GRPC, GRPC_SHM)
TRANSPORTS = (HTTP_RAW, HTTP_ENCODED, GRPC, GRPC_SHM, IN_PROCESS)
PLATES = (0, 1, 4, 20)
CONCURRENCIES = (1, 2, 4, 8, 16)
SECONDS, ROUNDS = 1.5, 3
THIN_TRANSPORTS, THIN_CONCURRENCIES = (HTTP_ENCODED, IN_PROCESS), (1, 4)
"""What a thin grid keeps: these transports at every concurrency, the others at these two."""


class Key(NamedTuple):
    """One cell of the grid: a picture's name, how it travels, calls at once."""

    picture: str
    transport: str
    concurrency: int


@dataclass(frozen=True)
class Address:
    """Where a running server listens; empty where that is not known.

    Attributes:
        http: host:port.
        grpc: host:port.
        metrics: URL of the Prometheus metrics.
    """

    http: str
    grpc: str = ""
    metrics: str = ""


@dataclass(frozen=True)
class Task:
    """What to measure, how long and where to write.

    Attributes:
        out: Folder for the report.
        plates: Plates of the rendered pictures, one picture each.
        files: Picture files to measure with instead.
        transports: Ways in; `in-process` is the bound without a server.
        concurrencies: Calls at once.
        seconds: Of each cell in each round, without warm-up.
        rounds: How often the whole grid is repeated.
        thin: Leave out the cells that tell least.
        address: A running server; one of our own when None.
        device: `auto`, `cpu` or `gpu`.
        engine: What runs the networks; `auto` fits the machine.
        threads: CPU threads of one inference; what fits the machine when 0.
        pictures: Pictures in work at once in the own server; what fits the machine when 0.
        repository: Model repository of the own server, ours when None.
        weights: Folder of the weights, ours when None.
        against: Report of another run to compare with.
    """

    out: Path
    plates: tuple[int, ...] = PLATES
    files: tuple[Path, ...] = ()
    transports: tuple[str, ...] = TRANSPORTS
    concurrencies: tuple[int, ...] = CONCURRENCIES
    seconds: float = SECONDS
    rounds: int = ROUNDS
    thin: bool = False
    address: Address | None = None
    device: str = "auto"
    engine: Engine = Engine.AUTO
    threads: int = 0
    pictures: int = 0
    repository: Path | None = None
    weights: Path | None = None
    against: Path | None = None

    def __post_init__(self) -> None:
        _check_numbers("plates", self.plates, least=0, most=100)
        _check_numbers("concurrency", self.concurrencies, least=1, most=256)
        unknown = [name for name in self.transports if name not in TRANSPORTS]
        if unknown or not self.transports:
            raise SettingsError(
                f"transport: wanted some of {', '.join(TRANSPORTS)}, got {(unknown or ['none'])[0]}"
            )
        check_range("seconds", self.seconds, 0.1, 3600)
        check_range("rounds", self.rounds, 1, 1000)
        if self.address and (self.repository or self.pictures):
            raise SettingsError(
                "model-repository, pictures: wanted without --url, because a running server has "
                "its own; got both"
            )
        if self.address and not self.address.grpc and set(self.transports) & set(OVER_GRPC):
            raise SettingsError("grpc-url: wanted host:port for the gRPC transports, got none")

    @property
    def is_served(self) -> bool:
        """Tell whether any transport needs a server."""
        return self.transports != (IN_PROCESS,)


def numbers(text: str, name: str) -> tuple[int, ...]:
    """Parse `1,2,4`.

    Raises:
        SettingsError: It is something else.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"{name}: wanted whole numbers like 1,2,4, got {text!r}") from None


def grid(task: Task, pictures: Sequence[str], round_: int) -> list[Key]:
    """Return every cell in the order of one round.

    Pictures and concurrencies come in another order each round, so that a slow spell of the machine
    hits all alike. Their transports stay next to each other, in another order too, because it is
    these that are divided by one another.
    """
    rng = random.Random(round_)
    blocks = [(name, count) for name in pictures for count in task.concurrencies]
    rng.shuffle(blocks)
    return [
        Key(name, transport, count)
        for name, count in blocks
        for transport in rng.sample(task.transports, len(task.transports))
        if not task.thin or transport in THIN_TRANSPORTS or count in THIN_CONCURRENCIES
    ]


def _check_numbers(name: str, values: Sequence[int], least: int, most: int) -> None:
    wrong = [value for value in values if not least <= value <= most]
    if wrong or not values or len(set(values)) < len(values):
        got = wrong[0] if wrong else ",".join(map(str, values)) or "none"
        raise SettingsError(f"{name}: wanted different whole numbers, {least} to {most}, got {got}")


def address(url: str | None, grpc_url: str | None, metrics_url: str | None) -> Address | None:
    """Return where the running server listens; None when there is no `--url`.

    Raises:
        SettingsError: The URL has a scheme, or the others are there without it.
    """
    if not url and (grpc_url or metrics_url):
        raise SettingsError("url: wanted with --grpc-url and --metrics-url, got none")
    for one in (url or "", grpc_url or ""):
        if "://" in one:
            raise SettingsError(f"url: wanted host:port, got {one}")
    return Address(url, grpc_url or "", metrics_url or "") if url else None


def transports_of(address: Address | None) -> tuple[str, ...]:
    """Return every transport that the server's address allows."""
    has_grpc = address is None or bool(address.grpc)
    return tuple(name for name in TRANSPORTS if has_grpc or name not in OVER_GRPC)
