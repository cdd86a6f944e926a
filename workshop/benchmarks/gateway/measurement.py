"""Measures the same calls to Triton directly and through the gateway, then a flood of callers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import median

from workshop.benchmarks.load.process import Measure
from workshop.benchmarks.load.requests import HttpRequest, file, kserve_http
from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.pooling import percentile
from workshop.benchmarks.processes import count_bytes, find_tree

BARE, GATEWAY = "bare Triton", "gateway"
HOST = "127.0.0.1"
CALLERS = (1, 4, 16)
ROUNDS = 5
USUAL, FLOOD = 16, 200
"""Numbers of callers: enough to keep the service busy, and far too many."""


@dataclass(frozen=True)
class Ports:
    """The HTTP ports of both servers by name, and the process ID of the gateway."""

    ports: dict[str, int]
    gateway: int


@dataclass(frozen=True)
class Cost:
    """Rates and median latencies of both servers, for one picture and number of callers.

    Attributes:
        picture: The name of the picture.
        callers: The number of callers at once.
        rates: Calls a second by server: the median of the rounds.
        p50_ms: The median latency by server: the median of the rounds.
    """

    picture: str
    callers: int
    rates: dict[str, float]
    p50_ms: dict[str, float]

    @property
    def ratio(self) -> float:
        return self.rates[GATEWAY] / self.rates[BARE]

    @property
    def more_ms(self) -> float:
        return self.p50_ms[GATEWAY] - self.p50_ms[BARE]


@dataclass(frozen=True)
class Flood:
    """The results of the callers of one server, and the gateway's memory before and after, MiB."""

    server: str
    callers: int
    round: Round
    before_mb: float
    after_mb: float


def measure_cost(
    ports: Ports, pictures: Sequence[Path], seconds: float, measure: Measure
) -> Iterator[Cost]:
    """Measure every combination of picture and number of callers."""
    for picture in pictures:
        for callers in CALLERS:
            yield _cost(ports, picture, callers, seconds, measure)


def _cost(ports: Ports, picture: Path, callers: int, seconds: float, measure: Measure) -> Cost:
    request = _build(picture)
    rounds: dict[str, list[Round]] = {name: [] for name in ports.ports}
    for _ in range(ROUNDS):
        for name, port in ports.ports.items():
            rounds[name].append(measure(f"{HOST}:{port}", request, callers, seconds))
    return Cost(
        picture=picture.stem,
        callers=callers,
        rates={name: median(one.throughput for one in of) for name, of in rounds.items()},
        p50_ms={
            name: median(percentile(one.latencies_ms, 50) or nan for one in of)
            for name, of in rounds.items()
        },
    )


def _build(picture: Path) -> HttpRequest:
    return kserve_http([file(picture.read_bytes())], outputs=("texts",))


def measure_flood(ports: Ports, picture: Path, seconds: float, measure: Measure) -> Iterator[Flood]:
    """Measure each server twice: with the usual number of callers, then with a flood."""
    for name, port in ports.ports.items():
        for callers in (USUAL, FLOOD):
            before = _memory_mb(ports.gateway)
            measured = measure(f"{HOST}:{port}", _build(picture), callers, seconds)
            yield Flood(name, callers, measured, before, _memory_mb(ports.gateway))


def _memory_mb(process: int) -> float:
    return count_bytes(find_tree(process)) / 2**20
