"""Measures the gain of more replicas and the cost of the balancer, in closed loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from orchestrator.client import PlateClient
from orchestrator.errors import ModelError, RequestError, ServerError
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.rounds import Cpu, Round, measure_round, repeat
from workshop.benchmarks.processes import find_tree, read_cpu_s
from workshop.benchmarks.scale_out.callers import Known, connect
from workshop.benchmarks.scale_out.incidents import Fleet

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
DIRECT, BALANCED = "direct", "balanced"
COST_S = 1.0
"""The seconds of each route in each round."""
NO_PLATES = 0
"""A value of `max_plates` that is refused before the picture is decoded."""


def _option(default: T, explained: str) -> T:
    return field(default=default, metadata={"help": explained})


@dataclass(frozen=True)
class Options:
    """The options of a run."""

    replicas: tuple[int, ...] = _option((1, 2, 3), "how many to compare")
    cores: int = _option(1, "of each replica")
    concurrency: tuple[int, ...] = _option((1, 4, 8, 16), "calls at once")
    seconds: float = _option(1.5, "of each cell in each round")
    rounds: int = _option(3, "how often everything is measured")
    callers: int = _option(2, "of each protocol, in an incident")
    margin: float = _option(3.0, "seconds before and after one")
    retries: int = _option(5, "of PlateClient")


@dataclass(frozen=True, order=True)
class Concurrency:
    """A load: the number of replicas, and the number of callers at once."""

    replicas: int
    callers: int

    def __str__(self) -> str:
        return f"{self.replicas} replicas x{self.callers}"


class Route(NamedTuple):
    """The route of a call that is refused at once; `by` is `DIRECT` or `BALANCED`."""

    protocol: str
    by: str

    def __str__(self) -> str:
        return f"{self.protocol}, {self.by}"


def measure_scales(
    fleet: Fleet, pictures: Sequence[Known], options: Options
) -> dict[Concurrency, list[Round]]:
    """Measure every load in every round, over HTTP; the other replicas are idle."""
    usage = _usage(fleet)
    caller = partial(connect, fleet.balancer.urls["http"], pictures, options.retries)

    def measure(load: Concurrency) -> Round:
        _use(fleet, load.replicas)
        return measure_round(caller, load.callers, options.seconds, usage=usage)

    loads = [Concurrency(count, many) for count in options.replicas for many in options.concurrency]
    measured = _repeat(loads, options.rounds, measure)
    _use(fleet, len(fleet.replicas))
    return measured


def measure_cost(fleet: Fleet, picture: Known, rounds: int) -> dict[Route, list[Round]]:
    """Measure calls that hold a picture and are refused at once, with and without the balancer.

    Such a call lacks only the recognition, whose time would hide the difference. There is one
    caller and one replica.
    """
    _use(fleet, 1)
    gateway = fleet.replicas[0].gateway
    urls = {
        Route("http", DIRECT): gateway.http,
        Route("grpc", DIRECT): f"grpc://{gateway.grpc}",
        **{Route(name, BALANCED): url for name, url in fleet.balancer.urls.items()},
    }

    def measure(route: Route) -> Round:
        return measure_round(partial(_connect_refused, urls[route], picture), 1, COST_S)

    measured = _repeat(list(urls), rounds, measure)
    _use(fleet, len(fleet.replicas))
    return measured


def _repeat(cells: Sequence[K], rounds: int, measure: Callable[[K], Round]) -> dict[K, list[Round]]:
    """Measure every cell in every round; each must have an answer."""

    def measure_answered(cell: K) -> Round:
        one = measure(cell)
        if not one.latencies_ms:
            raise ServerError(f"load: wanted answers, got {one.first_error}")
        return one

    measured: dict[K, list[Round]] = {}
    for _ in repeat(cells, rounds, measure_answered, measured):
        pass
    return measured


def _use(fleet: Fleet, replicas: int) -> None:
    """Route the calls to the first replicas alone."""
    for index, replica in enumerate(fleet.replicas):
        fleet.balancer.set_state(replica.name, "ready" if index < replicas else "maint")
    fleet.wait_until_up(replicas)


def _usage(fleet: Fleet) -> Callable[[], Cpu]:
    """Return a function that reads the CPU seconds of servers, callers and balancer."""
    servers = frozenset[int]().union(*(find_tree(replica.pid) for replica in fleet.replicas))
    balancer = [fleet.balancer.pid]
    return lambda: Cpu(read_cpu_s(servers), time.process_time(), read_cpu_s(balancer))


@contextmanager
def _connect_refused(url: str, picture: Known) -> Iterator[Send]:
    with PlateClient(url) as client:

        def send(number: int) -> Outcome:
            try:
                client.recognize(picture.encoded, max_plates=NO_PLATES)
            except RequestError:
                return Outcome()
            raise ModelError(f"max_plates: wanted {NO_PLATES} refused, got an answer")

        yield send
