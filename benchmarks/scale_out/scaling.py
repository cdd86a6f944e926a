"""What another replica brings, and what the balancer costs: closed loops, round by round."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from benchmarks.load import Sample, closed_loop
from benchmarks.processes import cpu_s, tree
from benchmarks.scale_out.callers import Known, connected
from benchmarks.scale_out.incidents import Fleet
from orchestrator.client import PlateClient
from orchestrator.errors import ModelError, RequestError, ServerError

DIRECT, BALANCED = "direct", "balanced"
NO_PLATES = 0
"""As `max_plates` it is refused, before the picture is looked at."""


class Cell(NamedTuple):
    """What is measured in one go."""

    replicas: int
    concurrency: int


class Way(NamedTuple):
    """How a call that is refused at once travels."""

    protocol: str
    by: str


def scaling(
    cells: Sequence[Cell],
    fleet: Fleet,
    pictures: Sequence[Known],
    *,
    seconds: float,
    rounds: int,
    retries: int,
) -> dict[Cell, list[Sample]]:
    """Measure every cell in every round, over HTTP, each round in another order.

    Args:
        cells: The first replicas of the fleet get the calls, the others stay idle.
        fleet: Has at least as many replicas as any cell.
        pictures: What each caller sends, in turn.
        seconds: Of each cell in each round.
        rounds: How often.
        retries: How often the client may send a call again.

    Raises:
        ServerError: A cell had no answer at all.
    """
    samples: dict[Cell, list[Sample]] = {cell: [] for cell in cells}
    for round_ in range(rounds):
        for cell in random.Random(round_).sample(cells, len(cells)):
            _use(fleet, cell.replicas)
            caller = partial(connected, fleet.balancer.urls["http"], pictures, retries)
            loop = closed_loop(caller, cell.concurrency, seconds, usage=_usage(fleet))
            samples[cell].append(_answered(loop))
        print(f"scaling: round {round_ + 1} of {rounds} done", file=sys.stderr)
    _use(fleet, len(fleet.replicas))
    return samples


def _answered(loop: Sample) -> Sample:
    if not loop.latencies_ms:
        raise ServerError(f"load: wanted answers, got {loop.first_error or 'none'}")
    return loop


def _use(fleet: Fleet, replicas: int) -> None:
    """Let the first replicas have the calls, and no others."""
    for index, replica in enumerate(fleet.replicas):
        fleet.balancer.set_state(replica.name, "ready" if index < replicas else "maint")
    fleet.wait_until_up(replicas)


def _usage(fleet: Fleet) -> Callable[[], Mapping[str, float]]:
    """Return what reads the CPU seconds of the servers, of the balancer and of the callers."""
    servers = frozenset[int]().union(*(tree(replica.pid) for replica in fleet.replicas))
    balancer = frozenset({fleet.balancer.pid})
    return lambda: {
        "servers": cpu_s(servers),
        "balancer": cpu_s(balancer),
        "callers": time.process_time(),
    }


def cost(fleet: Fleet, picture: Known, *, seconds: float, rounds: int) -> dict[Way, list[Sample]]:
    """Measure calls that carry a picture and are refused at once, with the balancer and without.

    Such a call is all of a call but the recognition, whose time would hide the difference. One
    caller, one replica.

    Raises:
        ServerError: There was no answer at all.
    """
    _use(fleet, 1)
    options = fleet.replicas[0].options
    urls = {
        Way("http", DIRECT): options.http_url,
        Way("grpc", DIRECT): f"grpc://{options.grpc_url}",
        Way("http", BALANCED): fleet.balancer.urls["http"],
        Way("grpc", BALANCED): fleet.balancer.urls["grpc"],
    }
    samples: dict[Way, list[Sample]] = {way: [] for way in urls}
    for round_ in range(rounds):
        for way in random.Random(round_).sample(list(urls), len(urls)):
            loop = closed_loop(partial(_refused, urls[way], picture), 1, seconds)
            samples[way].append(_answered(loop))
    _use(fleet, len(fleet.replicas))
    print("cost of the balancer: done", file=sys.stderr)
    return samples


@contextmanager
def _refused(url: str, picture: Known) -> Iterator[Callable[[], int]]:
    with PlateClient(url) as client:

        def call() -> int:
            try:
                client.recognize(picture.encoded, max_plates=NO_PLATES)
            except RequestError:
                return 0
            raise ModelError(f"max_plates: wanted {NO_PLATES} refused, got an answer")

        yield call
