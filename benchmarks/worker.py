"""The bounds: the same pipeline and the bare networks, in a process of their own.

Run by `child.worker`; it reads one JSON object a line and answers with one.
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
from typing import Any

import torch

from benchmarks.load import Sample, closed_loop
from benchmarks.processes import Watch
from orchestrator.contract import DETECTOR, INPUT, READER, RECTIFIER
from orchestrator.images import crop_plates, decode, letterbox
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, Tensors, find, read, recognize, straighten
from orchestrator.settings import Settings

REPEATS = 5
"""Of each bare stage in a round; the median counts."""


@dataclass(frozen=True)
class Bench:
    """What the pictures are recognised with: networks, the server's settings, a device."""

    infer: Infer
    settings: Settings
    device: torch.device


def opened(
    weights: str,
    device: str,
    engine: str,
    threads: int,
    instances: int,
    parameters: Mapping[str, Any],
) -> Bench:
    """Load the networks, with the settings in the `parameters` of the server's config."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    on_gpu = device != "cpu" and torch.cuda.is_available()
    fitting = choose(Engine(engine), on_gpu=on_gpu)
    where = torch.device("cuda" if on_gpu and not fitting.is_openvino else "cpu")
    several = [load_networks(Path(weights), where, fitting, threads) for _ in range(instances)]
    return Bench(one_of(several), Settings.from_config(parameters), where)


def one_of(several: Sequence[Infer]) -> Infer:
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


def load(bench: Bench, encoded: bytes, concurrency: int, seconds: float) -> Sample:
    """Measure the pipeline, from the bytes of a file to plates, in so many threads."""

    @contextmanager
    def caller() -> Iterator[Callable[[], int]]:
        torch.set_flush_denormal(True)  # a flag of the thread
        yield lambda: _plates(bench, encoded)

    watch = Watch(frozenset({os.getpid()}))
    sample = closed_loop(
        caller,
        concurrency,
        seconds,
        usage=lambda: {"cpu_s": time.process_time()},
        look=watch.look,
    )
    return replace(sample, peaks=watch.peaks())


@torch.inference_mode()
def _plates(bench: Bench, encoded: bytes) -> int:
    picture = decode(encoded, max_pixels=bench.settings.max_pixels).to(bench.device)
    return len(recognize(picture, bench.infer, bench.settings))


@torch.inference_mode()
def bare(bench: Bench, encoded: bytes) -> list[dict[str, Any]]:
    """Time each stage of a picture alone; rows are pictures or plates at once."""
    picture = decode(encoded).to(bench.device)
    side_px = bench.settings.detector_side_px
    net = letterbox(picture, side_px).net
    runs: list[tuple[str, int, Callable[[], object]]] = [
        ("decode", 1, lambda: decode(encoded)),
        ("letterbox", 1, lambda: letterbox(picture, side_px)),
        (DETECTOR, 1, lambda: bench.infer(DETECTOR, {INPUT: net})),
    ]
    plates = crop_plates(picture, find(picture, bench.infer, bench.settings).xyxy)
    for rows in sorted({min(1, len(plates)), len(plates)} - {0}):
        crops = plates[:rows]
        runs.append((RECTIFIER, rows, partial(straighten, crops, bench.infer)))
        runs.append((READER, rows, partial(read, crops, bench.infer)))
    return [{"stage": stage, "rows": rows, "ms": _ms(bench, run)} for stage, rows, run in runs]


def _ms(bench: Bench, run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        if bench.device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def answer(bench: Bench, question: Mapping[str, Any]) -> dict[str, Any]:
    """Do what one line asks for."""
    encoded = Path(question["picture"]).read_bytes()
    if question["do"] == "bare":
        return {"bare": bare(bench, encoded)}
    return asdict(load(bench, encoded, question["concurrency"], question["seconds"]))


def main() -> None:
    """Serve questions from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    bench = opened(**json.loads(sys.argv[1]))
    answers.write("ready\n")
    for line in sys.stdin:
        answers.write(json.dumps(answer(bench, json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
