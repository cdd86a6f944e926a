"""Measures the upper bound: the same pipeline under the same load, without a server.

The pipeline runs in a separate process, which waits for jobs without CPU time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from orchestrator.errors import ServerError
from orchestrator.pipeline import recognize
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.triton.stages import UNPACKING, Stopwatch
from workshop.benchmarks.bench.metrics import Counters, add_up, read_stopwatch
from workshop.benchmarks.bench.pipelines import (
    Parameters,
    Pipeline,
    choose_variables,
    open_pipeline,
)
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.rounds import Cpu, Round, measure_round
from workshop.benchmarks.processes import Watch, set_variables


def measure_load(pipeline: Pipeline, encoded: bytes, concurrency: int, seconds: float) -> Round:
    """Measure the pipeline, from the bytes of a file to plates, in a number of threads."""
    counted: list[Counters] = []

    @contextmanager
    def caller() -> Iterator[Send]:
        torch.set_flush_denormal(True)  # a flag per thread
        yield lambda number: Outcome(plates=_recognize(pipeline, encoded, counted))

    watch = Watch(frozenset({os.getpid()}))
    measured = measure_round(
        caller,
        concurrency,
        seconds,
        usage=lambda: Cpu(server=time.process_time()),
        look=watch.look,
    )
    return replace(measured, peaks=watch.peaks(), counters=add_up(counted))


@torch.inference_mode()
def _recognize(pipeline: Pipeline, encoded: bytes, counted: list[Counters]) -> int:
    """Return the number of plates; append the times of the stages to `counted`."""
    watch = Stopwatch()
    picture = pipeline.decode(encoded)
    watch.lap(UNPACKING)
    plates = recognize(picture, watch.time(pipeline.infer), pipeline.settings)
    watch.finish()
    counted.append(read_stopwatch(watch))
    return len(plates)


_opened: list[Pipeline] = []
"""The pipeline of the worker process; empty in its parent."""


@dataclass(frozen=True)
class Worker:
    """The process that runs the pipeline, as its parent sees it; use `run_worker`."""

    pool: ProcessPoolExecutor

    def load(self, encoded: bytes, concurrency: int, seconds: float) -> Round:
        """Measure the pipeline under load."""
        try:
            return self.pool.submit(_measure, encoded, concurrency, seconds).result()
        except BrokenProcessPool as error:
            raise ServerError(f"in-process: the worker process ended: {error}") from error


@contextmanager
def run_worker(options: ServerOptions, parameters: Parameters) -> Iterator[Worker]:
    """Run the pipeline in a separate process, as a server runs it, for a `with` block."""
    spawn = multiprocessing.get_context("spawn")  # its imports see the variables
    ignore = (signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=signal.signal, initargs=ignore)
    with pool:
        with set_variables(choose_variables(options)):
            opened = pool.submit(_open, options, parameters)
        opened.result()
        yield Worker(pool)


def _open(options: ServerOptions, parameters: Parameters) -> None:
    _opened.append(open_pipeline(options, parameters))


def _measure(encoded: bytes, concurrency: int, seconds: float) -> Round:
    return measure_load(_opened[0], encoded, concurrency, seconds)
