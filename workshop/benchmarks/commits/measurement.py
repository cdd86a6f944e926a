"""Measures the servers of two commits in turns, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import typer

from orchestrator.errors import ServerError
from workshop.benchmarks.bench.plan import HTTP_ENCODED
from workshop.benchmarks.bench.pooling import RoundFigures, pool
from workshop.benchmarks.bench.transports import connect
from workshop.benchmarks.commits.accuracy import SIDES, Accuracy, LabelledSet, compare_answers
from workshop.benchmarks.commits.worktrees import choose_variables
from workshop.benchmarks.load.rounds import Cpu, Round, keep_results, measure_round, shuffle
from workshop.benchmarks.pictures import Picture
from workshop.benchmarks.processes import find_tree, read_cpu_s
from workshop.benchmarks.service import Launch, Service, run_service

PASSES = 2
"""The measurements of each cell and side in a round. The sides take turns: A B, then B A."""
WARM_UP_S = 0.5
"""Seconds of load with each picture after a start, before anything is measured."""
Services = Mapping[str, Service]


class Cell(NamedTuple):
    """A picture, and the number of calls at once."""

    picture: str
    calls: int

    def __str__(self) -> str:
        return f"{self.picture} x{self.calls}"


@dataclass(frozen=True)
class Sample:
    """One measurement of a cell.

    Attributes:
        plates: The plates in the last answer; None when there was none.
    """

    round: int
    side: str
    picture: str
    calls: int
    figures: RoundFigures
    errors: int = 0
    first_error: str = ""
    plates: int | None = None


@dataclass(frozen=True)
class Plan:
    """The plan of a comparison.

    Attributes:
        pictures: The pictures of the load, by name.
        seconds: The duration of each measurement, without warm-up.
        sets: The labelled pictures that both commits read.
    """

    pictures: Mapping[str, Picture]
    calls: tuple[int, ...]
    rounds: int
    seconds: float
    sets: tuple[LabelledSet, ...] = ()

    @property
    def cells(self) -> list[Cell]:
        return [Cell(picture, calls) for picture in self.pictures for calls in self.calls]


@dataclass
class Results:
    """The results so far; `ended` says why a run ended early."""

    samples: list[Sample] = field(default_factory=list)
    accuracy: list[Accuracy] = field(default_factory=list)
    end_reason: str = ""


@contextmanager
def run_pair(
    trees: Mapping[str, Path], flags: Sequence[str], logs: Path
) -> Iterator[dict[str, Service]]:
    """Run the server of each side from its folder of code, for the length of a `with` block.

    Raises:
        ServerError: One does not start; the message names the side.
    """
    with ExitStack() as stack:
        services: dict[str, Service] = {}
        for side, tree in trees.items():
            log = logs / f"{side}.log"
            variables = choose_variables(tree)
            launch = Launch(flags=flags, variables=variables, working_folder=tree, log=log)
            try:
                services[side] = stack.enter_context(run_service(launch))
            except ServerError as error:
                raise ServerError(f"{side}: {error}; see {log}") from error
        yield services


Start = Callable[[Sequence[str]], AbstractContextManager[Services]]
"""Starts the servers of these sides, in this order."""


def measure(plan: Plan, start: Start) -> Results:
    """Measure every round; Ctrl-C or a failure ends the run, and keeps the results so far.

    Args:
        plan: The plan.
        start: Starts both servers anew. Each round does so, because two starts of one program
            may differ in speed. The server that starts last also takes turns.
    """
    results = Results()
    with keep_results(results, results.samples):
        for number in range(plan.rounds):
            began = time.monotonic()
            with start(order_sides(number)) as services:
                if not number:
                    results.accuracy += [
                        compare_answers(labelled_set, services) for labelled_set in plan.sets
                    ]
                results.samples += measure_pair(plan, services, number)
            left_s = (time.monotonic() - began) * (plan.rounds - number - 1)
            typer.echo(f"{number + 1}/{plan.rounds} rounds; about {left_s:.0f} s left", err=True)
    return results


def measure_pair(plan: Plan, services: Services, number: int) -> list[Sample]:
    """Measure every cell of one round; only one server is under load at a time."""
    for service in services.values():
        for picture in plan.pictures.values():
            _load(service, picture, max(plan.calls), WARM_UP_S)
    samples = []
    for pass_ in range(PASSES):
        for cell in shuffle(plan.cells, number, lambda cell: cell):
            for side in order_sides(number + pass_):
                result = _load(
                    services[side], plan.pictures[cell.picture], cell.calls, plan.seconds
                )
                samples.append(_sum_up(result, number, side, cell))
    return samples


def order_sides(turn: int) -> tuple[str, ...]:
    """Return the sides in the order of a turn; the next turn has the reverse order."""
    return SIDES if turn % 2 == 0 else SIDES[::-1]


def _load(service: Service, picture: Picture, calls: int, seconds: float) -> Round:
    pids = find_tree(service.pid)
    result = measure_round(
        lambda: connect(HTTP_ENCODED, picture, service.gateway),
        calls,
        seconds,
        usage=lambda: Cpu(server=read_cpu_s(pids)),
    )
    if not service.is_running():
        raise ServerError(f"{service.log}: wanted a server that runs, got its end")
    return result


def _sum_up(result: Round, number: int, side: str, cell: Cell) -> Sample:
    figures = pool([result])
    return Sample(
        number,
        side,
        *cell,
        figures.by_round[0],
        result.errors,
        result.first_error,
        result.plates,
    )
