"""Runs the callers of one server in a process of their own, so that they have their own threads."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from functools import partial

from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.connections import Connection
from workshop.benchmarks.load.requests import HttpRequest
from workshop.benchmarks.load.rounds import Round, measure_round


def measure_in_process(
    address: str, request: HttpRequest, concurrency: int, seconds: float
) -> Round:
    """Measure callers that send one request without any backoff, in a separate process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measure, address, request, concurrency, seconds).result()


def _measure(address: str, request: HttpRequest, concurrency: int, seconds: float) -> Round:
    return measure_round(partial(_connect, address, request), concurrency, seconds, backoff_s=0.0)


@contextmanager
def _connect(address: str, request: HttpRequest) -> Iterator[Send]:
    with closing(Connection(address)) as connection:

        def send(number: int) -> Outcome:
            reply = connection.send(request)
            return Outcome(reply.status, error=reply.error)

        yield send
