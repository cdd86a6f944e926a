"""What another replica brings, and what the balancer costs: closed loops, round by round."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from benchmarks.load import Cpu, Round, run_closed_loop
from benchmarks.processes import find_tree, read_cpu_s
from benchmarks.scale_out.callers import Known, connect
from benchmarks.scale_out.incidents import Fleet
from orchestrator.client import PlateClient
from orchestrator.errors import ModelError, RequestError, ServerError

DIRECT, BALANCED = "direct", "balanced"
COST_S = 1.0
"""Of each way in each round."""
NO_PLATES = 0
"""As `max_plates` it is refused, before the picture is looked at."""


@dataclass(frozen=True)
class Options:
    """What is asked for; the command's help explains each."""

    replicas: tuple[int, ...] = (1, 2, 3)
    cores: int = 1
    concurrency: tuple[int, ...] = (1, 4, 8, 16)
    seconds: float = 1.5
    rounds: int = 3
    callers: int = 2
    margin: float = 3.0
    retries: int = 5


@dataclass(frozen=True, order=True)
class Crowd:
    """So many replicas, and so many callers of theirs at once."""

    replicas: int
    callers: int


class Way(NamedTuple):
    """How a call that is refused at once travels."""

    protocol: str
    by: str


def measure_crowds(
    crowds: Sequence[Crowd],
    fleet: Fleet,
    pictures: Sequence[Known],
    options: Options,
) -> dict[Crowd, list[Round]]:
    """Measure every crowd in every round, over HTTP, each round in another order.

    Args:
        crowds: The first replicas of the fleet get the calls, the others stay idle.
        fleet: Has at least as many replicas as any crowd.
        pictures: What each caller sends, in turn.
        options: How long and how often, and how often the client may send a call again.

    Raises:
        ServerError: A crowd had no answer at all.
    """
    measured: dict[Crowd, list[Round]] = {crowd: [] for crowd in crowds}
    for round_ in range(options.rounds):
        for crowd in random.Random(round_).sample(crowds, len(crowds)):
            _use(fleet, crowd.replicas)
            caller = partial(connect, fleet.balancer.urls["http"], pictures, options.retries)
            loop = run_closed_loop(caller, crowd.callers, options.seconds, usage=_usage(fleet))
            measured[crowd].append(_check_answered(loop))
        print(f"scaling: round {round_ + 1} of {options.rounds} done", file=sys.stderr)
    _use(fleet, len(fleet.replicas))
    return measured


def _check_answered(loop: Round) -> Round:
    if not loop.latencies_ms:
        raise ServerError(f"load: wanted answers, got {loop.first_error or 'none'}")
    return loop


def _use(fleet: Fleet, replicas: int) -> None:
    """Let the first replicas have the calls, and no others."""
    for index, replica in enumerate(fleet.replicas):
        fleet.balancer.set_state(replica.name, "ready" if index < replicas else "maint")
    fleet.wait_until_up(replicas)


def _usage(fleet: Fleet) -> Callable[[], Cpu]:
    """Return what reads the CPU seconds of the servers, of the balancer and of the callers."""
    servers = frozenset[int]().union(*(find_tree(replica.pid) for replica in fleet.replicas))
    balancer = frozenset({fleet.balancer.pid})
    return lambda: Cpu(
        server=read_cpu_s(servers), client=time.process_time(), balancer=read_cpu_s(balancer)
    )


def measure_cost(fleet: Fleet, picture: Known, rounds: int) -> dict[Way, list[Round]]:
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
    measured: dict[Way, list[Round]] = {way: [] for way in urls}
    for round_ in range(rounds):
        for way in random.Random(round_).sample(list(urls), len(urls)):
            loop = run_closed_loop(partial(_connect_refused, urls[way], picture), 1, COST_S)
            measured[way].append(_check_answered(loop))
    _use(fleet, len(fleet.replicas))
    print("cost of the balancer: done", file=sys.stderr)
    return measured


@contextmanager
def _connect_refused(url: str, picture: Known) -> Iterator[Callable[[], int]]:
    with PlateClient(url) as client:

        def call() -> int:
            try:
                client.recognize(picture.encoded, max_plates=NO_PLATES)
            except RequestError:
                return 0
            raise ModelError(f"max_plates: wanted {NO_PLATES} refused, got an answer")

        yield call
