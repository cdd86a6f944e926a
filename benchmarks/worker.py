"""The bounds: the same pipeline and the bare networks, in a process of their own.

Run by `child.run_worker`; it reads one JSON object a line and answers with one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from queue import LifoQueue

import torch

from benchmarks.load import Cpu, Round, closed_loop
from benchmarks.metrics import Counters, read_stopwatch, total
from benchmarks.processes import Watch
from orchestrator.contract import DETECTOR, INPUT, READER, RECTIFIER
from orchestrator.images import crop_plates, decode, letterbox
from orchestrator.networks.engines import Engine, chosen
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, Tensors, find, read, recognize, straighten
from orchestrator.settings import Settings
from orchestrator.stages import LETTERBOX, PICTURE, Stopwatch
from orchestrator.toml_files import build

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
    """What one line asks for.

    Attributes:
        picture: Path of its file.
        concurrency: Calls at once; with 0 the stages are timed alone.
        seconds: Least time of the load.
    """

    picture: str
    concurrency: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Bound:
    """A stage on its own; rows are pictures or plates at once."""

    stage: str
    rows: int
    ms: float


@dataclass(frozen=True)
class Bounds:
    """Every stage of a picture, one round's."""

    bounds: tuple[Bound, ...]


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
    fitting = chosen(Engine(options.engine), on_gpu=on_gpu)
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


def measure_load(pipeline: Pipeline, encoded: bytes, job: Job) -> Round:
    """Measure the pipeline, from the bytes of a file to plates, in so many threads."""
    counted: list[Counters] = []

    @contextmanager
    def caller() -> Iterator[Callable[[], int]]:
        torch.set_flush_denormal(True)  # a flag of the thread
        yield lambda: _recognize(pipeline, encoded, counted)

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
def measure_alone(pipeline: Pipeline, encoded: bytes) -> Bounds:
    """Time each stage of a picture alone."""
    picture = decode(encoded).to(pipeline.device)
    side_px = pipeline.settings.detector_side_px
    net = letterbox(picture, side_px).net
    runs: list[tuple[str, int, Callable[[], object]]] = [
        (PICTURE, 1, lambda: decode(encoded)),
        (LETTERBOX, 1, lambda: letterbox(picture, side_px)),
        (DETECTOR, 1, lambda: pipeline.infer(DETECTOR, {INPUT: net})),
    ]
    plates = crop_plates(picture, find(picture, pipeline.infer, pipeline.settings).xyxy)
    for rows in sorted({min(1, len(plates)), len(plates)} - {0}):
        crops = plates[:rows]
        runs.append((RECTIFIER, rows, partial(straighten, crops, pipeline.infer)))
        runs.append((READER, rows, partial(read, crops, pipeline.infer)))
    return Bounds(tuple(Bound(name, rows, _time_ms(pipeline, run)) for name, rows, run in runs))


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


def do_job(pipeline: Pipeline, job: Job) -> Round | Bounds:
    """Do what one line asks for."""
    encoded = Path(job.picture).read_bytes()
    if not job.concurrency:
        return measure_alone(pipeline, encoded)
    return measure_load(pipeline, encoded, job)


def main() -> None:
    """Do jobs from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    pipeline = open_pipeline(build(PipelineOptions, json.loads(sys.argv[1])))
    answers.write("ready\n")
    for line in sys.stdin:
        done = do_job(pipeline, build(Job, json.loads(line)))
        answers.write(json.dumps(asdict(done)) + "\n")


if __name__ == "__main__":
    main()
