"""The same calls to the bare Triton and through the gateway, in turns; then a flood of callers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.gateway.callers import Load, Outcome, run
from benchmarks.processes import count_bytes, find_tree

BARE, GATEWAY = "bare Triton", "gateway"
HOST = "127.0.0.1"
CALLERS = (1, 4, 16)
ROUNDS = 5
USUAL, FLOOD = 16, 200
"""Callers that keep the service busy, and those that are too many."""


@dataclass(frozen=True)
class Ports:
    """HTTP ports of the two, by name, and the gateway's processes."""

    ports: dict[str, int]
    gateway: int


@dataclass(frozen=True)
class Cost:
    """One picture and number of callers: rates and median latencies of both.

    Attributes:
        picture: Its name.
        callers: At once.
        rates: Calls a second, by server; the median of the rounds.
        p50_ms: Likewise.
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
    """What so many callers got of one server, and the memory of the gateway around it, MiB."""

    server: str
    callers: int
    outcome: Outcome
    before_mb: float
    after_mb: float


def measure_cost(ports: Ports, pictures: Sequence[Path], seconds: float) -> Iterator[Cost]:
    """Measure every picture and number of callers."""
    for picture in pictures:
        for callers in CALLERS:
            yield _cost(ports, picture, callers, seconds)


def _cost(ports: Ports, picture: Path, callers: int, seconds: float) -> Cost:
    outcomes: dict[str, list[Outcome]] = {name: [] for name in ports.ports}
    for _ in range(ROUNDS):
        for name, port in ports.ports.items():
            outcomes[name].append(run(Load(HOST, port, str(picture), callers, seconds)))
    return Cost(
        picture=picture.stem,
        callers=callers,
        rates={name: median(one.rate for one in of) for name, of in outcomes.items()},
        p50_ms={
            name: median(one.percentile_ms(0.5) for one in of) for name, of in outcomes.items()
        },
    )


def measure_flood(ports: Ports, picture: Path, seconds: float) -> Iterator[Flood]:
    """Measure both, busy and then flooded."""
    for name, port in ports.ports.items():
        for callers in (USUAL, FLOOD):
            before = _memory_mb(ports.gateway)
            outcome = run(Load(HOST, port, str(picture), callers, seconds))
            yield Flood(name, callers, outcome, before, _memory_mb(ports.gateway))


def _memory_mb(process: int) -> float:
    return count_bytes(find_tree(process)) / 2**20
