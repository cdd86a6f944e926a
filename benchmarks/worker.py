"""The bounds: the same pipeline and the bare networks, in a process of their own.

It sleeps in a read while it is not asked.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from queue import LifoQueue
from typing import Any

import torch

from benchmarks.load import Cpu, Round, closed_loop
from benchmarks.metrics import Counters, read_stopwatch, total
from benchmarks.plan import Plan
from benchmarks.processes import Watch
from orchestrator.contract import DETECTOR, INPUT, READER, RECTIFIER
from orchestrator.errors import PlateError, ServerError
from orchestrator.images import crop_plates, decode, letterbox
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.export import load_networks
from orchestrator.networks.weights import WEIGHTS
from orchestrator.pipeline import Infer, Tensors, find, read, recognize, straighten
from orchestrator.server.capacity import Capacity
from orchestrator.server.options import ServerOptions
from orchestrator.settings import Settings
from orchestrator.stages import LETTERBOX, PICTURE, Stopwatch

GOODBYE_S = 5.0
REPEATS = 5
"""Of each bare stage in a round; the median counts."""


@dataclass(frozen=True)
class PipelineOptions:
    """How to load the networks; `parameters` are the settings in the server's config."""

    weights: str
    device: str
    engine: str
    threads: int
    instances: int
    parameters: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Job:
    """What is asked for.

    Attributes:
        encoded: The bytes of a picture's file.
        concurrency: Calls at once; with 0 the stages are timed alone.
        seconds: Least time of the load.
    """

    encoded: bytes
    concurrency: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Bound:
    """A stage on its own; rows are pictures or plates at once."""

    stage: str
    rows: int
    ms: float


@dataclass(frozen=True)
class Pipeline:
    """What the pictures are recognised with: networks, the server's settings, a device."""

    infer: Infer
    settings: Settings
    device: torch.device


def open_pipeline(options: PipelineOptions) -> Pipeline:
    """Load the networks."""
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    fitting = choose(Engine(options.engine), on_gpu=on_gpu)
    where = torch.device("cuda" if on_gpu and not fitting.is_openvino else "cpu")
    several = [
        load_networks(Path(options.weights), where, fitting, options.threads)
        for _ in range(options.instances)
    ]
    return Pipeline(share(several), Settings.from_config(options.parameters), where)


def share(several: Sequence[Infer]) -> Infer:
    """Return an `Infer` that runs each call on instances that are free, as the server does."""
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


def measure_load(pipeline: Pipeline, job: Job) -> Round:
    """Measure the pipeline, from the bytes of a file to plates, in so many threads."""
    counted: list[Counters] = []

    @contextmanager
    def caller() -> Iterator[Callable[[], int]]:
        torch.set_flush_denormal(True)  # a flag of the thread
        yield lambda: _recognize(pipeline, job.encoded, counted)

    watch = Watch(frozenset({os.getpid()}))
    measured = closed_loop(
        caller,
        job.concurrency,
        job.seconds,
        usage=lambda: Cpu(server=time.process_time()),
        look=watch.look,
    )
    return replace(measured, peaks=watch.peaks(), counters=total(counted))


@torch.inference_mode()
def _recognize(pipeline: Pipeline, encoded: bytes, counted: list[Counters]) -> int:
    """Return how many plates there are; the stages go to `counted`, as in the server."""
    watch = Stopwatch()
    picture = decode(encoded, max_pixels=pipeline.settings.max_pixels).to(pipeline.device)
    watch.lap(PICTURE)
    plates = recognize(picture, watch.timed(pipeline.infer), pipeline.settings)
    watch.finish()
    counted.append(read_stopwatch(watch))
    return len(plates)


@torch.inference_mode()
def measure_alone(pipeline: Pipeline, job: Job) -> tuple[Bound, ...]:
    """Time each stage of a picture alone."""
    picture = decode(job.encoded).to(pipeline.device)
    side_px = pipeline.settings.detector_side_px
    net = letterbox(picture, side_px).net
    runs: list[tuple[str, int, Callable[[], object]]] = [
        (PICTURE, 1, lambda: decode(job.encoded)),
        (LETTERBOX, 1, lambda: letterbox(picture, side_px)),
        (DETECTOR, 1, lambda: pipeline.infer(DETECTOR, {INPUT: net})),
    ]
    plates = crop_plates(picture, find(picture, pipeline.infer, pipeline.settings).xyxy)
    for rows in sorted({min(1, len(plates)), len(plates)} - {0}):
        crops = plates[:rows]
        runs.append((RECTIFIER, rows, partial(straighten, crops, pipeline.infer)))
        runs.append((READER, rows, partial(read, crops, pipeline.infer)))
    return tuple(Bound(name, rows, _time_ms(pipeline, run)) for name, rows, run in runs)


def _time_ms(pipeline: Pipeline, run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        if pipeline.device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def serve(asked: Connection, options: PipelineOptions) -> None:
    """Do jobs until nobody asks any more; the first answer says that all is loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks to handle
    try:
        pipeline = open_pipeline(options)
        asked.send(None)
        while True:
            job = asked.recv()
            run = measure_load if job.concurrency else measure_alone
            asked.send(run(pipeline, job))
    except EOFError:
        return
    except PlateError as error:
        asked.send(error)


@dataclass(frozen=True)
class Worker:
    """The process, seen from outside; use `run_worker`."""

    process: SpawnProcess
    answers: Connection

    def load(self, encoded: bytes, concurrency: int, seconds: float) -> Round:
        """Measure the pipeline under load.

        Raises:
            ServerError: The process ended.
        """
        measured: Round = self.ask(Job(encoded, concurrency, seconds))
        return measured

    def time_alone(self, encoded: bytes) -> tuple[Bound, ...]:
        """Time each stage of a picture alone.

        Raises:
            ServerError: The process ended.
        """
        bounds: tuple[Bound, ...] = self.ask(Job(encoded))
        return bounds

    def ask(self, job: Job | None) -> Any:
        """Send a job, or nothing when it is about to start, and wait for the answer."""
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
def run_worker(plan: Plan, parameters: Mapping[str, Mapping[str, str]]) -> Iterator[Worker]:
    """Run the pipeline in a process of its own, as the server runs it, for a `with` block.

    Args:
        plan: What is measured.
        parameters: Of the model `plate_recognition`, as its config has them.

    Raises:
        PlateError: The networks cannot be loaded.
    """
    capacity = _fit(plan)
    options = PipelineOptions(
        weights=str((plan.weights or WEIGHTS).resolve()),
        device=plan.used_device,
        engine=plan.engine,
        threads=capacity.threads,
        instances=capacity.instances,
        parameters=parameters,
    )
    variables = {
        "OMP_NUM_THREADS": str(capacity.threads),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE"),  # idle means idle
        **({"CUDA_VISIBLE_DEVICES": ""} if plan.used_device == "cpu" else {}),
    }
    spawn = multiprocessing.get_context("spawn")  # what it imports sees the variables
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=serve, args=(theirs, options), daemon=True)
    with _set_variables(variables):
        process.start()
    theirs.close()
    try:
        worker = Worker(process, ours)
        worker.ask(None)
        yield worker
    finally:
        ours.close()  # which ends it
        process.join(GOODBYE_S)
        process.kill()
        process.join()


@contextmanager
def _set_variables(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _fit(plan: Plan) -> Capacity:
    """Return how the CPU is shared in a server of our own; on a GPU there is one of each."""
    server = ServerOptions(
        device=plan.used_device,
        engine=Engine(plan.engine),
        threads=plan.threads,
        pictures=plan.pictures,
    )
    return server.capacity() or Capacity(len(os.sched_getaffinity(0)), 1, 1)
