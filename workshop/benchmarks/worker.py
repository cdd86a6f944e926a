"""Runs the upper bound in a separate process, which waits for jobs without CPU time."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from orchestrator.errors import PlateError, ServerError
from orchestrator.supervisor.options import ServerOptions
from workshop.benchmarks.bounds import Parameters, fit, measure_load, open_pipeline
from workshop.benchmarks.load.rounds import Round
from workshop.benchmarks.processes import set_variables

GOODBYE_S = 5.0


def serve(asked: Connection, options: ServerOptions, parameters: Parameters) -> None:
    """Do jobs until the connection closes; the first answer says that all is loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    try:
        pipeline = open_pipeline(options, parameters)
        asked.send(None)
        while True:
            asked.send(measure_load(pipeline, *asked.recv()))
    except (EOFError, BrokenPipeError):
        return
    except PlateError as error:
        asked.send(error)


@dataclass(frozen=True)
class Worker:
    """The worker process as its parent sees it; use `run_worker`."""

    process: SpawnProcess
    answers: Connection

    def load(self, encoded: bytes, concurrency: int, seconds: float) -> Round:
        """Measure the pipeline under load.

        Raises:
            ServerError: The worker process ended.
        """
        measured: Round = self.ask(encoded, concurrency, seconds)
        return measured

    def ask(self, *job: object) -> Any:
        """Send a job and wait for the answer; without a job, wait until the process is ready."""
        try:
            if job:
                self.answers.send(job)
            answer = self.answers.recv()
        except (EOFError, OSError) as error:
            self.process.join(GOODBYE_S)
            code = self.process.exitcode
            raise ServerError(f"in-process: wanted an answer, got its end: code {code}") from error
        if isinstance(answer, PlateError):
            raise answer
        return answer


@contextmanager
def run_worker(options: ServerOptions, parameters: Parameters) -> Iterator[Worker]:
    """Run the pipeline in a separate process, as a server runs it, for a `with` block.

    Raises:
        PlateError: The networks cannot be loaded.
    """
    spawn = multiprocessing.get_context("spawn")  # its imports see the variables
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=serve, args=(theirs, options, parameters), daemon=True)
    variables = {"OMP_NUM_THREADS": str(fit(options).threads)}
    if "OMP_WAIT_POLICY" not in os.environ:
        variables["OMP_WAIT_POLICY"] = "PASSIVE"  # idle threads use no CPU
    if options.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    with set_variables(variables):
        process.start()
    theirs.close()
    try:
        worker = Worker(process, ours)
        worker.ask()
        yield worker
    finally:
        ours.close()  # ends the process
        process.join(GOODBYE_S)
        process.kill()
        process.join()
