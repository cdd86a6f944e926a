"""The bounds: the same pipeline and the bare networks, in a process of their own.

Run by `inprocess`; it reads one JSON object a line and answers with one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orchestrator.bench.load import closed_loop
from orchestrator.bench.processes import memory_bytes
from orchestrator.contract import DETECTOR, INPUT, READER, RECTIFIER
from orchestrator.images import crop_plates, decode, letterbox
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, find, read, recognize, straighten
from orchestrator.settings import Settings

REPEATS = 5
"""Of each bare stage in a round; the median counts."""


@dataclass(frozen=True)
class Engine:
    """What the pictures are recognised with.

    Attributes:
        infer: The networks.
        settings: Those of the server.
        device: Where the networks are.
        threads: CPU threads of each network.
    """

    infer: Infer
    settings: Settings
    device: torch.device
    threads: int


@dataclass(frozen=True)
class Bare:
    """One stage alone.

    Attributes:
        stage: `decode`, `letterbox`, or the name of a network.
        rows: Pictures or plates at once.
        threads: CPU threads.
        ms: Of one run.
    """

    stage: str
    rows: int
    threads: int
    ms: float


def opened(weights: Path, device: str, threads: int, parameters: dict[str, Any]) -> Engine:
    """Load the networks, with the settings in the `parameters` of the server's config."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    on_gpu = device != "cpu" and torch.cuda.is_available()
    where = torch.device("cuda" if on_gpu else "cpu")
    settings = Settings.from_config(parameters)
    return Engine(load_networks(weights, where, threads=threads), settings, where, threads)


def load(engine: Engine, encoded: bytes, concurrency: int, seconds: float) -> dict[str, Any]:
    """Measure the pipeline, from the bytes of a file to plates, in so many threads."""
    found: list[int] = []
    memory: list[int] = []

    @contextmanager
    def caller() -> Iterator[Callable[[], object]]:
        torch.set_flush_denormal(True)  # a flag of the thread
        yield lambda: found.append(_plates(engine, encoded))

    loop = closed_loop(
        caller,
        concurrency,
        seconds,
        snapshot=time.process_time,
        aside=lambda: memory.append(memory_bytes(frozenset({os.getpid()}))),
    )
    return asdict(loop) | {"plates": found[-1] if found else None, "memory_bytes": max(memory)}


@torch.inference_mode()
def _plates(engine: Engine, encoded: bytes) -> int:
    picture = decode(encoded, max_pixels=engine.settings.max_pixels).to(engine.device)
    return len(recognize(picture, engine.infer, engine.settings))


@torch.inference_mode()
def bare(engine: Engine, encoded: bytes) -> list[Bare]:
    """Time each stage of a picture alone."""
    picture = decode(encoded).to(engine.device)
    side_px = engine.settings.detector_side_px
    net = letterbox(picture, side_px).net
    crops = crop_plates(picture, find(picture, engine.infer, engine.settings).xyxy)
    runs: dict[str, Callable[[], object]] = {
        "decode": lambda: decode(encoded),
        "letterbox": lambda: letterbox(picture, side_px),
        DETECTOR: lambda: engine.infer(DETECTOR, {INPUT: net}),
    }
    results = [Bare(stage, 1, engine.threads, _ms(engine, run)) for stage, run in runs.items()]
    for rows in sorted({min(1, len(crops)), len(crops)} - {0}):
        results += _readers(engine, crops[:rows])
    return results


def _readers(engine: Engine, crops: Tensor) -> list[Bare]:
    straight, _ = straighten(crops, engine.infer)
    runs: dict[str, Callable[[], object]] = {
        RECTIFIER: lambda: straighten(crops, engine.infer),
        READER: lambda: read(straight, engine.infer),
    }
    return [Bare(name, len(crops), engine.threads, _ms(engine, run)) for name, run in runs.items()]


def _ms(engine: Engine, run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run()
        if engine.device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def answer(engine: Engine, question: dict[str, Any]) -> dict[str, Any]:
    """Do what one line asks for."""
    encoded = Path(question["picture"]).read_bytes()
    if question["do"] == "bare":
        return {"bare": [asdict(one) for one in bare(engine, encoded)]}
    return load(engine, encoded, question["concurrency"], question["seconds"])


def main() -> None:
    """Serve questions from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    engine = opened(**_arguments(json.loads(sys.argv[1])))
    answers.write("ready\n")
    for line in sys.stdin:
        answers.write(json.dumps(answer(engine, json.loads(line))) + "\n")


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    return given | {"weights": Path(given["weights"])}


if __name__ == "__main__":
    main()
