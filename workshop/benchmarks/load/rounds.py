"""Measures loads for a time: latencies, CPU time and memory while every caller is at work."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from typing import Protocol, TypeVar

import typer

from orchestrator.errors import PlateError
from workshop.benchmarks.load.closed_loop import OVERLOADED, Call, Connect, Load
from workshop.benchmarks.processes import Peaks

K = TypeVar("K", bound=Hashable)
LOOK_S = 0.2
"""Seconds between two measurements of memory under load."""


@dataclass(frozen=True)
class Cpu:
    """CPU time of each side, in the unit of the field that holds it; None if it is not measured.

    The client is the process of the callers.
    """

    server: float | None = None
    client: float | None = None

    def minus(self, before: Cpu) -> Cpu:
        """Return the CPU time used since an earlier reading."""
        sides = zip(astuple(self), astuple(before), strict=True)
        return Cpu(*(None if None in (now, then) else now - then for now, then in sides))


@dataclass(frozen=True)
class Round:
    """The results of one round of a cell.

    Attributes:
        seconds: The length of the measured time; the CPU time belongs to the same time.
        latencies_ms: The latencies of the calls that ended in the measured time.
        unanswered: All calls of the measured time without an answer, also the refused ones.
        errors: Calls that failed, including those of the warm-up.
    """

    seconds: float
    latencies_ms: tuple[float, ...]
    refused: int = 0
    unanswered: int = 0
    errors: int = 0
    first_error: str = ""
    plates: int | None = None
    cpu_s: Cpu = field(default_factory=Cpu)
    peaks: Peaks = field(default_factory=Peaks)
    counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def throughput(self) -> float:
        return len(self.latencies_ms) / self.seconds if self.seconds else 0.0


def measure_round(
    connect: Connect,
    concurrency: int,
    seconds: float,
    *,
    usage: Callable[[], Cpu] = Cpu,
    look: Callable[[], object] = lambda: None,
) -> Round:
    """Run the callers, and measure while all of them call.

    The measured time begins when every caller has made a call. It lasts for `seconds`, or longer
    if fewer calls than callers have ended by then. It ends with the end of a call, while the other
    calls continue. So the filling and the draining of a queue are not measured. At both ends,
    `usage` reads the CPU seconds so far. Under load, `look` is called every `LOOK_S`; it must be
    fast.
    """
    load = Load({"": connect}, concurrency)

    def wait(is_reached: Callable[[], bool]) -> int:
        """Return the number of calls when a condition is true, or when every caller has ended."""
        while True:
            with load.change:
                if load.change.wait_for(lambda: is_reached() or load.has_ended(), LOOK_S):
                    return len(load.calls)
            look()

    def is_long_enough() -> bool:
        calls = load.calls
        is_late = bool(calls) and calls[-1].ended - calls[start - 1].ended >= seconds
        return is_late and len(calls) - start >= concurrency

    with load.run():
        start, before = wait(lambda: load.warm_callers >= concurrency), usage()
        look()
        end, after = wait(is_long_enough), usage()
    return _sum_up(load, start, end, after.minus(before))


def _sum_up(load: Load, start: int, end: int, cpu_s: Cpu) -> Round:
    calls, measured_calls = load.calls, load.calls[start:end]
    failed_calls = [call for call in calls if _is_failure(call)]
    exceptions = load.errors()
    errors = [
        *(call.error for call in failed_calls),
        *(str(error) or type(error).__name__ for error in exceptions),
    ]
    plates = [call.plates for call in calls if call.is_answered]
    return Round(
        seconds=calls[end - 1].ended - calls[start - 1].ended if start and measured_calls else 0.0,
        latencies_ms=tuple(1e3 * call.waited_s for call in measured_calls if call.is_answered),
        refused=sum(call.status in OVERLOADED for call in measured_calls),
        unanswered=sum(not call.is_answered for call in measured_calls),
        errors=len(errors),
        first_error=errors[0] if errors else "",
        plates=plates[-1] if plates else None,
        cpu_s=cpu_s,
    )


def _is_failure(call: Call) -> bool:
    return call.is_wrong or not (call.is_answered or call.status in OVERLOADED)


def repeat(
    cells: Sequence[K],
    rounds: int,
    measure: Callable[[K], Round],
    results: dict[K, list[Round]],
    block: Callable[[K], Hashable] = lambda cell: cell,
) -> Iterator[int]:
    """Measure every cell once in every round, and say how long the rest will take.

    `results` gets each result at once, so that it has all of them when a run ends early. Yields
    the number of complete rounds after each. See `shuffle` for `block`.
    """
    start_s, count = time.monotonic(), 0
    for round_ in range(rounds):
        for cell in shuffle(cells, round_, block):
            result = measure(cell)
            results.setdefault(cell, []).append(result)
            count += 1
            rest_s = (time.monotonic() - start_s) * (rounds * len(cells) - count) / count
            remaining = f"{rest_s / 60:.0f} min" if rest_s >= 90 else f"{rest_s:.0f} s"
            failures = f", {result.errors} errors" if result.errors else ""
            typer.echo(
                f"{count}/{rounds * len(cells)}  {cell}: "
                f"{result.throughput:.1f} pictures/s{failures}; about {remaining} left",
                err=True,
            )
        yield round_ + 1


class PartialResults(Protocol):
    """Results of a run, which may have ended early.

    Attributes:
        end_reason: The reason; empty after a whole run.
    """

    end_reason: str


@contextmanager
def keep_results(results: PartialResults, measurements: Sized) -> Iterator[None]:
    """Let Ctrl-C or a failure end a run, and keep the results so far.

    Args:
        results: The results, which get the reason.
        measurements: The measurements among them. The failure of a run without any is raised.
    """
    try:
        yield
    except KeyboardInterrupt:
        results.end_reason = "interrupted"
    except PlateError as error:
        if not measurements:
            raise
        results.end_reason = str(error)


def shuffle(cells: Sequence[K], round_: int, block: Callable[[K], Hashable]) -> list[K]:
    """Return the cells in the order of one round.

    Each round has another order of blocks, so that a slow phase of the machine affects all equally.
    The cells of a block stay together, in another order too, as they are divided by one another.
    """
    blocks: dict[Hashable, list[K]] = defaultdict(list)
    for cell in cells:
        blocks[block(cell)].append(cell)
    order = random.Random(round_)
    shuffled = order.sample([*blocks.values()], len(blocks))
    return [
        cell for block_cells in shuffled for cell in order.sample(block_cells, len(block_cells))
    ]
