"""Measures the upper bound: the same pipeline under the same load, without a server.

The pipeline runs in a separate process, which waits for jobs without CPU time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import LifoQueue

import torch

from orchestrator.errors import ServerError
from orchestrator.imaging.decoding import decode
from orchestrator.networks.engines import choose
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, Tensors, recognize
from orchestrator.settings import Settings
from orchestrator.supervisor.capacity import Capacity
from orchestrator.supervisor.options import ServerOptions
from orchestrator.triton.stages import PICTURE, Stopwatch
from workshop.benchmarks.load.closed_loop import Outcome, Send
from workshop.benchmarks.load.rounds import Cpu, Round, measure_round
from workshop.benchmarks.metrics import Counters, add_up, read_stopwatch
from workshop.benchmarks.processes import Watch, set_variables

Parameters = Mapping[str, Mapping[str, str]]
"""The settings of `plate_recognition`, as its config.pbtxt has them."""


@dataclass(frozen=True)
class Pipeline:
    """The pipeline that recognises the pictures: networks, the server's settings, a device."""

    infer: Infer
    settings: Settings
    device: torch.device


def open_pipeline(options: ServerOptions, parameters: Parameters) -> Pipeline:
    """Load the networks as a server with these options does."""
    capacity = fit(options)
    torch.set_num_threads(capacity.threads)
    torch.set_flush_denormal(True)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    engine = choose(options.engine, on_gpu=on_gpu)
    where = torch.device("cuda" if on_gpu and not engine.is_openvino else "cpu")
    several = [
        load_networks(options.weights, where, engine, capacity.threads)
        for _ in range(capacity.instances)
    ]
    return Pipeline(share(several), Settings.from_config(parameters), where)


def fit(options: ServerOptions) -> Capacity:
    """Return how the CPU is shared; on a GPU there is one instance of each network."""
    return options.capacity() or Capacity(len(os.sched_getaffinity(0)), 1, 1)


def share(several: Sequence[Infer]) -> Infer:
    """Return an `Infer` that runs each call on a free instance, as the server does."""
    free: LifoQueue[Infer] = LifoQueue()
    for infer in several:
        free.put(infer)

    def infer_on_a_free_one(model: str, tensors: Tensors) -> Tensors:
        infer = free.get()
        try:
            return infer(model, tensors)
        finally:
            free.put(infer)

    return infer_on_a_free_one


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
    picture = decode(encoded, max_pixels=pipeline.settings.max_pixels).to(pipeline.device)
    watch.lap(PICTURE)
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
