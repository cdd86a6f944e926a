"""Runs callers in threads. Each sends its next request as soon as it has its answer."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from orchestrator.errors import Overloaded, PlateError
from workshop.benchmarks.load.connections import ANSWERED, LOST, Connection

BACKOFF_S = 0.01
"""The backoff of a caller after a call without an answer, in seconds."""
OVERLOADED = ("503", "UNAVAILABLE")
"""The statuses of calls that the server had no capacity for, over HTTP and gRPC."""
FAILED = "failed"


class Outcome(NamedTuple):
    """The outcome of one call.

    Attributes:
        status: `ANSWERED`, `LOST`, or the HTTP status or gRPC code of an error.
    """

    status: str = ANSWERED
    is_wrong: bool = False
    error: str = ""
    plates: int | None = None


Send = Callable[[int], Outcome]
"""Makes the call with this number and waits for its outcome."""
Connect = Callable[[], AbstractContextManager[Send]]
"""Opens the connection of one more caller."""


def send_by(open_: Callable[[], Connection], send: Callable[[Connection, int], Outcome]) -> Connect:
    """Return a `Connect`: each caller sends its calls over a connection of its own."""

    @contextmanager
    def connect() -> Iterator[Send]:
        with closing(open_()) as connection:
            yield partial(send, connection)

    return connect


@dataclass(frozen=True)
class Call:
    """One call and its outcome; times are seconds of the monotonic clock."""

    protocol: str
    number: int
    began: float
    ended: float
    status: str = ANSWERED
    is_wrong: bool = False
    error: str = ""
    plates: int | None = None

    @property
    def waited_s(self) -> float:
        return self.ended - self.began

    @property
    def is_answered(self) -> bool:
        return self.status == ANSWERED

    @property
    def is_lost(self) -> bool:
        return self.status == LOST

    @property
    def is_refused(self) -> bool:
        return not self.is_answered and not self.is_lost


@dataclass
class Load:
    """Callers of several protocols, which make numbered calls in a closed loop.

    Attributes:
        connect: By protocol, the function that opens the connection of one more caller.
        backoff_s: The backoff of a caller after a call without an answer, in seconds.
        record: Gets each call after its end; None: all are kept in `calls`.
        warm_callers: The number of callers that have made a call, or have ended.
        change: Notified after each call, and when a caller ends.
    """

    connect: Mapping[str, Connect]
    each: int = 1
    most: int | None = None
    backoff_s: float = BACKOFF_S
    record: Callable[[Call], object] | None = None
    calls: list[Call] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)
    warm_callers: int = 0
    ended_callers: int = 0
    change: threading.Condition = field(default_factory=threading.Condition)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _callers: list[Future[None]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of callers."""
        return self.each * len(self.connect)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run the callers for the length of a `with` block, then wait for calls in progress."""
        with ThreadPoolExecutor(self.count) as pool:
            protocols = [protocol for protocol in self.connect for _ in range(self.each)]
            try:
                self._callers += [pool.submit(self._drive, protocol) for protocol in protocols]
                yield
            finally:
                self.is_over.set()

    def has_ended(self) -> bool:
        """Tell whether every caller has ended."""
        return self.ended_callers == self.count

    def wait(self) -> None:
        """Wait until the last of `most` calls is over; raise the first error of a caller."""
        for caller in self._callers:
            caller.result()

    def errors(self) -> list[BaseException]:
        """Return the exceptions of the callers that could not go on."""
        exceptions = [caller.exception() for caller in self._callers if caller.done()]
        return [error for error in exceptions if error is not None]

    def _drive(self, protocol: str) -> None:
        is_warm = False
        try:
            with self.connect[protocol]() as send:
                while not self.is_over.is_set():
                    number = next(self._numbers)  # written in C, so each thread gets another one
                    if self.most is not None and number >= self.most:
                        return
                    call = self._call(protocol, number, send, is_first=not is_warm)
                    is_warm = True
                    if not call.is_answered and self.backoff_s:
                        self.is_over.wait(self.backoff_s)
        finally:
            with self.change:
                self.warm_callers += not is_warm
                self.ended_callers += 1
                self.change.notify_all()

    def _call(self, protocol: str, number: int, send: Send, *, is_first: bool) -> Call:
        began = time.monotonic()
        outcome = _send(send, number)
        with self.change:
            call = Call(protocol, number, began, time.monotonic(), *outcome)
            (self.record or self.calls.append)(call)
            self.warm_callers += is_first
            self.change.notify_all()
        return call


def _send(send: Send, number: int) -> Outcome:
    try:
        return send(number)
    except Overloaded as error:
        return Outcome(OVERLOADED[0], error=str(error))
    except PlateError as error:
        return Outcome(FAILED, error=str(error) or type(error).__name__)
