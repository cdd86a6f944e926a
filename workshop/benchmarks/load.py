"""A closed loop of callers, each of which calls again as soon as it has its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

from orchestrator.errors import Overloaded, PlateError
from workshop.benchmarks.processes import Peaks

Caller = AbstractContextManager[Callable[[], int]]
"""A connection of one caller; it gives a function that makes one call and counts the plates."""

LOOK_S = 0.2
"""Seconds between two measurements of memory under load."""
BACK_OFF_S = 0.01
"""The backoff of a caller after a call that failed or was refused, in seconds."""


class _Mark(NamedTuple):
    moment: float
    latencies: int
    refused: int
    attempts: int


@dataclass(frozen=True)
class Cpu:
    """CPU time of each side, in the unit of the field that holds it; None if it is not measured.

    The client is the process of the callers. The balancer is between the client and the servers.
    """

    server: float | None = None
    client: float | None = None
    balancer: float | None = None

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
        refused: Calls that the server had no capacity for.
        errors: Calls that failed, including those of the warm-up.
        plates: The number of plates in the last answer; None without an answer.
        counters: The server's counters over the whole load.
    """

    seconds: float
    latencies_ms: tuple[float, ...]
    refused: int = 0
    errors: int = 0
    first_error: str = ""
    plates: int | None = None
    cpu_s: Cpu = field(default_factory=Cpu)
    peaks: Peaks = field(default_factory=Peaks)
    counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def throughput(self) -> float:
        return len(self.latencies_ms) / self.seconds if self.seconds else 0.0


def run_closed_loop(
    caller: Callable[[], Caller],
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
    crowd = _Crowd(concurrency)
    with crowd.at_work(caller):
        start, before = crowd.wait(lambda: crowd.warm >= concurrency, look), usage()
        look()
        end, after = crowd.wait(lambda: crowd.has_done(start, seconds), look), usage()
    return Round(
        seconds=end.moment - start.moment,
        latencies_ms=tuple(crowd.latencies_ms[start.latencies : end.latencies]),
        refused=end.refused - start.refused,
        errors=crowd.errors,
        first_error=crowd.first_error,
        plates=crowd.plates,
        cpu_s=after.minus(before),
    )


@dataclass
class _Crowd:
    """The common record of the callers; every change holds and notifies `changed`."""

    callers: int
    changed: threading.Condition = field(default_factory=threading.Condition)
    is_over: bool = False
    latencies_ms: list[float] = field(default_factory=list)
    plates: int | None = None
    warm: int = 0
    gone: int = 0
    refused: int = 0
    errors: int = 0
    first_error: str = ""
    attempts: int = 0
    moment: float = field(default_factory=time.perf_counter)  # when the last attempt ended

    @contextmanager
    def at_work(self, caller: Callable[[], Caller]) -> Iterator[None]:
        """Run every caller for the length of a `with` block."""
        with ThreadPoolExecutor(self.callers) as pool:
            try:
                for _ in range(self.callers):
                    pool.submit(self.drive, caller)
                yield
            finally:
                self.is_over = True

    def drive(self, caller: Callable[[], Caller]) -> None:
        """Run one caller until it has to stop."""
        is_warm = False
        try:
            with caller() as call:
                while not self.is_over:
                    self.attempt(call)
                    with self.changed:
                        self.warm += not is_warm
                        self.changed.notify()
                    is_warm = True
        except Exception as error:  # shown to the user, counted as a failure
            self.ended(error)
        finally:
            with self.changed:
                self.warm += not is_warm
                self.gone += 1
                self.changed.notify()

    def attempt(self, call: Callable[[], int]) -> None:
        began = time.perf_counter()
        try:
            plates = call()
        except PlateError as error:
            self.ended(error)
            time.sleep(BACK_OFF_S)
        else:
            self.ended(plates, began)

    def ended(self, answer: int | Exception, began: float = 0.0) -> None:
        """Record the end of an attempt: the number of plates, or the error."""
        with self.changed:
            self.attempts += 1
            self.moment = time.perf_counter()
            if isinstance(answer, int):
                self.plates = answer
                self.latencies_ms.append(1e3 * (self.moment - began))
            elif isinstance(answer, Overloaded):
                self.refused += 1
            else:
                self.errors += 1
                self.first_error = self.first_error or str(answer) or type(answer).__name__

    def wait(self, is_reached: Callable[[], bool], look: Callable[[], object]) -> _Mark:
        """Wait until a condition is true, or until every caller has ended."""
        while True:
            with self.changed:
                if self.changed.wait_for(lambda: self.gone == self.callers or is_reached(), LOOK_S):
                    return _Mark(self.moment, len(self.latencies_ms), self.refused, self.attempts)
            look()

    def has_done(self, start: _Mark, seconds: float) -> bool:
        is_late = self.moment - start.moment >= seconds
        return is_late and self.attempts - start.attempts >= self.callers
