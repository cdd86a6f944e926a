"""Runs the upper bound in a separate process, which waits for jobs without CPU time."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass

from orchestrator.errors import ServerError
from orchestrator.supervisor.options import ServerOptions
from workshop.benchmarks.bounds import Parameters, Pipeline, fit, measure_load, open_pipeline
from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.processes import set_variables

_opened: list[Pipeline] = []
"""The pipeline of the worker process; empty in its parent."""


@dataclass(frozen=True)
class Worker:
    """The worker process as its parent sees it; use `run_worker`."""

    pool: ProcessPoolExecutor

    def load(self, encoded: bytes, concurrency: int, seconds: float) -> Round:
        """Measure the pipeline under load.

        Raises:
            ServerError: The worker process ended.
        """
        try:
            return self.pool.submit(_measure, encoded, concurrency, seconds).result()
        except BrokenProcessPool as error:
            raise ServerError(f"in-process: the worker process ended: {error}") from error


@contextmanager
def run_worker(options: ServerOptions, parameters: Parameters) -> Iterator[Worker]:
    """Run the pipeline in a separate process, as a server runs it, for a `with` block.

    Raises:
        PlateError: The networks cannot be loaded.
    """
    spawn = multiprocessing.get_context("spawn")  # its imports see the variables
    ignore = (signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    variables = {"OMP_NUM_THREADS": str(fit(options).threads)}
    if "OMP_WAIT_POLICY" not in os.environ:
        variables["OMP_WAIT_POLICY"] = "PASSIVE"  # idle threads use no CPU
    if options.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=signal.signal, initargs=ignore)
    with pool:
        with set_variables(variables):
            opened = pool.submit(_open, options, parameters)
        opened.result()
        yield Worker(pool)


def _open(options: ServerOptions, parameters: Parameters) -> None:
    _opened.append(open_pipeline(options, parameters))


def _measure(encoded: bytes, concurrency: int, seconds: float) -> Round:
    return measure_load(_opened[0], encoded, concurrency, seconds)
