"""Runs the callers of one server in a process of their own, so that they have their own threads."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from functools import partial

from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.connections import Connection
from workshop.benchmarks.load.requests import HttpRequest
from workshop.benchmarks.load.rounds import Round, measure_round

Measure = Callable[[str, HttpRequest, int, float], Round]
"""Measures callers that send one request without any backoff.

Its arguments are the address of the server, the request, the number of callers, and the seconds.
"""


@contextmanager
def run_callers() -> Iterator[Measure]:
    """Start the process of the callers for the length of a `with` block."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        yield lambda *load: pool.submit(_measure, *load).result()


def _measure(address: str, request: HttpRequest, concurrency: int, seconds: float) -> Round:
    return measure_round(partial(_connect, address, request), concurrency, seconds, backoff_s=0.0)


@contextmanager
def _connect(address: str, request: HttpRequest) -> Iterator[Send]:
    with closing(Connection(address)) as connection:

        def send(number: int) -> Outcome:
            reply = connection.send(request)
            return Outcome(reply.status, error=reply.error)

        yield send
