"""A closed loop: so many callers, each of which calls again as soon as it has its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from orchestrator.errors import Overloaded, PlateError

Caller = AbstractContextManager[Callable[[], object]]
"""Gives a function that makes one call, and closes the connection behind it."""
T = TypeVar("T")

WARM_UP_CALLS = 1
"""Of each caller, before anything counts; more would take longer than what is measured."""
BACK_OFF_S = 0.01
"""A caller waits as long after a call that failed or was refused, instead of hammering."""


@dataclass(frozen=True)
class Loop(Generic[T]):
    """What a closed loop saw while it was in its stride.

    Attributes:
        seconds: From the first moment that counts to the last.
        latencies_ms: Of the calls that ended in this time.
        refused: Calls that the server had no capacity for.
        errors: Calls that failed, those of the warm-up too.
        first_error: What the first of them said.
        before: The snapshot taken at the first moment.
        after: The one taken at the last.
    """

    seconds: float
    latencies_ms: tuple[float, ...]
    refused: int
    errors: int
    first_error: str
    before: T
    after: T


def closed_loop(
    caller: Callable[[], Caller],
    concurrency: int,
    seconds: float,
    *,
    snapshot: Callable[[], T],
    aside: Callable[[], object] = lambda: None,
) -> Loop[T]:
    """Call for a while and measure in the middle of it.

    Time begins when every caller is warm and runs for `seconds`, longer where fewer calls than
    callers have ended by then. It ends with the end of a call, while the others go on: a
    queue that fills or drains is not part of it.

    Args:
        caller: Opens the connection of one caller, in its thread.
        concurrency: Callers at once, a thread each.
        seconds: Least time.
        snapshot: Reads counters that are to be subtracted; taken at both ends.
        aside: Called under load before and after the time that counts, for what is slow to read.
    """
    crowd = _Crowd(concurrency)
    with crowd.at_work(caller):
        crowd.wait(lambda: crowd.warm >= concurrency)
        aside()
        start, before = crowd.mark(), snapshot()
        crowd.wait(lambda: crowd.has_done(start, seconds))
        end, after = crowd.mark(), snapshot()
        aside()
    return Loop(
        end.moment - start.moment,
        tuple(crowd.latencies_ms[start.ended : end.ended]),
        end.refused - start.refused,
        crowd.errors,
        crowd.first_error,
        before,
        after,
    )


@dataclass(frozen=True)
class _Mark:
    moment: float
    ended: int
    refused: int
    attempts: int


@dataclass
class _Crowd:
    """The callers' common book; every change is made and told under `changed`."""

    callers: int
    changed: threading.Condition = field(default_factory=threading.Condition)
    stop: threading.Event = field(default_factory=threading.Event)
    latencies_ms: list[float] = field(default_factory=list)
    warm: int = 0
    gone: int = 0
    refused: int = 0
    errors: int = 0
    attempts: int = 0
    first_error: str = ""

    @contextmanager
    def at_work(self, caller: Callable[[], Caller]) -> Iterator[None]:
        """Let every caller call for the length of a `with` block."""
        threads = [
            threading.Thread(target=self.drive, args=(caller,), daemon=True)
            for _ in range(self.callers)
        ]
        try:
            for thread in threads:
                thread.start()
            yield
        finally:
            self.stop.set()
            for thread in threads:
                if thread.ident is not None:  # it was started
                    thread.join()

    def drive(self, caller: Callable[[], Caller]) -> None:
        """Be one caller until told to stop."""
        attempts = 0
        try:
            with caller() as call:
                while not self.stop.is_set():
                    self._try(call)
                    attempts += 1
                    if attempts == WARM_UP_CALLS:
                        with self.changed:
                            self.warm += 1
                            self.changed.notify()
        except Exception as error:  # shown to the user, counted as a failure
            self._failed(error)
        finally:
            with self.changed:
                self.warm += attempts < WARM_UP_CALLS
                self.gone += 1
                self.changed.notify()

    def _try(self, call: Callable[[], object]) -> None:
        began = time.perf_counter()
        try:
            call()
        except Overloaded:
            with self.changed:
                self.refused += 1
                self._attempted()
            time.sleep(BACK_OFF_S)
        except PlateError as error:
            self._failed(error)
            time.sleep(BACK_OFF_S)
        else:
            with self.changed:
                self.latencies_ms.append(1e3 * (time.perf_counter() - began))
                self._attempted()

    def _failed(self, error: Exception) -> None:
        with self.changed:
            self.errors += 1
            self.first_error = self.first_error or str(error) or type(error).__name__
            self._attempted()

    def _attempted(self) -> None:
        self.attempts += 1
        self.changed.notify()

    def wait(self, is_reached: Callable[[], bool]) -> None:
        """Return when it is so, or when every caller is gone."""
        with self.changed:
            self.changed.wait_for(lambda: self.gone == self.callers or is_reached())

    def mark(self) -> _Mark:
        with self.changed:
            counts = len(self.latencies_ms), self.refused, self.attempts
            return _Mark(time.perf_counter(), *counts)

    def has_done(self, start: _Mark, seconds: float) -> bool:
        is_late = time.perf_counter() - start.moment >= seconds
        return is_late and self.attempts - start.attempts >= self.callers
