"""A closed loop: callers send one numbered question after another and record the results."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

import numpy as np

from workshop.benchmarks.load import BACK_OFF_S
from workshop.benchmarks.soak.questions import Deck, Question
from workshop.benchmarks.soak.samples import Calls
from workshop.benchmarks.soak.wire import Answer, Send

MOST_TOLD = 20
"""The number of wrong answers that are described in the report; all of them are counted."""
Connect = Callable[[], AbstractContextManager[Send]]


@dataclass
class Book:
    """The record of all calls; any number of threads may write to it."""

    wrong: list[str] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _latencies_ms: list[float] = field(default_factory=list)
    _page: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, question: Question, answer: Answer, seconds: float) -> bool:
        """Record a call; return whether its answer was the wanted one."""
        trouble = question.tell_wrong(answer)
        with self._lock:
            self._counts["failed" if trouble else _name_end(question)] += 1
            if trouble and len(self.wrong) < MOST_TOLD:
                self.wrong.append(trouble)
            if question.is_good and not trouble:
                self._latencies_ms.append(1e3 * seconds)
        return not trouble

    def turn_page(self) -> Calls:
        """Return the calls so far, with the latencies since the previous page."""
        with self._lock:
            page, self._page = self._page, len(self._latencies_ms)
            return _add_up(self._counts, self._latencies_ms[page:])

    def add_up(self) -> Calls:
        """Return the calls so far, with the latencies of the whole run."""
        with self._lock:
            return _add_up(self._counts, self._latencies_ms)


def _add_up(counts: Counter[str], latencies_ms: list[float]) -> Calls:
    if not latencies_ms:
        return Calls(**counts)
    p50, p95 = np.percentile(latencies_ms, (50, 95))
    return Calls(**counts, p50_ms=float(p50), p95_ms=float(p95))


def _name_end(question: Question) -> str:
    if question.is_dropped:
        return "dropped"
    return "answered" if question.is_good else "refused"


@dataclass
class Crowd:
    """The callers of a run.

    Attributes:
        deck: The questions that the callers send.
        book: The record of their calls.
        calls: The number of calls to make; no limit when None.
    """

    deck: Deck
    book: Book
    calls: int | None = None
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _lives: list[Future[None]] = field(default_factory=list)

    @contextmanager
    def at_work(self, connect: Connect, callers: int) -> Iterator[None]:
        """Run the callers for the length of a `with` block, then wait for calls in progress."""
        with ThreadPoolExecutor(callers) as pool:
            try:
                self._lives += [pool.submit(self._live, connect) for _ in range(callers)]
                yield
            finally:
                self._is_over.set()

    def has_ended(self) -> bool:
        """Tell whether all calls were made; raise any unexpected error of a caller."""
        ended = [life for life in self._lives if life.done()]
        for life in ended:
            life.result()
        return len(ended) == len(self._lives)

    def _live(self, connect: Connect) -> None:
        with connect() as send:
            while not self._is_over.is_set():
                number = next(self._numbers)  # written in C, so no two threads get the same number
                if self.calls is not None and number >= self.calls:
                    return
                if not self._ask(send, self.deck.question(number)):
                    time.sleep(BACK_OFF_S)

    def _ask(self, send: Send, question: Question) -> bool:
        began = time.monotonic()
        answer = send(question.message, question.hangs_up_s)
        return self.book.note(question, answer, time.monotonic() - began)
