"""`python -m workshop.benchmarks.stage_budgets`: times of a picture's stages, and their budgets.

The pipeline runs in one process with the environment of Triton's workers, on one thread and one
rendered picture of four plates. Budgets are for our own Python, not for the networks and not for
unpacking the file. They compare with the minimum over all rounds, which other work on the machine
disturbs least.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Annotated

import cv2
import torch
import typer

from orchestrator.contract import (
    CROPS,
    DETECTOR,
    LETTERBOX,
    READER,
    RECTIFIER,
    TEXTS,
    UNPACKING,
    to_arrays,
)
from orchestrator.host.resources import keep_freed, usable_memory
from orchestrator.networks.engines import Engine
from orchestrator.pipeline import recognize
from orchestrator.serving.supervisor.launch.command import UNLESS_SET
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.triton.stages import Stopwatch
from workshop.benchmarks.bench.server import Pipeline, choose_variables, open_pipeline
from workshop.benchmarks.pictures import render
from workshop.benchmarks.processes import set_variables

PLATES, WARM_UP = 4, 5
"""Plates of the picture, and rounds before the measurement."""
ANSWER, OURS = "answer", "ours"
"""The stage after the texts: corners and the arrays of the answer; and the sum of our stages."""
BUDGETS_MS = {LETTERBOX: 0.6, CROPS: 0.6, TEXTS: 0.8, ANSWER: 0.3, OURS: 2.5}
"""Most milliseconds of a stage: unhurried ones of one core of a current server CPU."""
ROWS = (UNPACKING, LETTERBOX, DETECTOR, CROPS, RECTIFIER, READER, TEXTS, ANSWER, OURS)


def measure_round(pipeline: Pipeline, file_bytes: bytes) -> dict[str, float]:
    """Recognise a picture once; return the milliseconds of each row."""
    watch = Stopwatch(pipeline.infer)
    picture = pipeline.decode(file_bytes)
    watch.lap(UNPACKING)
    to_arrays(recognize(picture, watch, pipeline.settings))
    watch.lap(ANSWER)
    stages_ms = {stage: 1e3 * seconds for stage, seconds in watch.seconds.items()}
    ours = sum(stages_ms.get(stage, 0.0) for stage in BUDGETS_MS)
    return stages_ms | {OURS: ours}


def list_exceeded(least_ms: Mapping[str, float]) -> list[str]:
    """Return the stages whose least milliseconds are above their budget."""
    return [stage for stage, budget in BUDGETS_MS.items() if least_ms[stage] > budget]


def show(rounds: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """Yield the lines of a table: the least and the median milliseconds, and the budget."""
    yield f"{'ms':10}{'least':>8}{'median':>8}{'budget':>8}"
    for row in ROWS:
        times = [stages[row] for stages in rounds]
        budget = f"{BUDGETS_MS[row]:8.1f}" if row in BUDGETS_MS else ""
        yield f"{row:10}{min(times):8.2f}{statistics.median(times):8.2f}{budget}"


@torch.inference_mode()
def measure(options: ServerOptions, rounds: int) -> list[dict[str, float]]:
    """Recognise the picture in this process; return the milliseconds of each row and round."""
    cv2.setNumThreads(1)
    pipeline, file_bytes = open_pipeline(options, {}), render(PLATES).file_bytes
    return [measure_round(pipeline, file_bytes) for _ in range(WARM_UP + rounds)][WARM_UP:]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each stage.")] = 200,
    engine: Annotated[Engine, typer.Option(help="Engine of the networks.")] = Engine.AUTO,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with status 1 if a budget is exceeded.")
    ] = False,
) -> None:
    """Measure the stages of a picture of four plates on one thread, and show their budgets."""
    options = ServerOptions(threads=1, pictures=1, instances=1, device="cpu", engine=engine)
    variables = {**UNLESS_SET, **keep_freed(usable_memory()), **os.environ}
    with (
        set_variables(variables | choose_variables(options)),
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
    ):
        rounds_ms = pool.submit(measure, options, rounds).result()
    typer.echo("\n".join(show(rounds_ms)))
    exceeded = list_exceeded({row: min(stages[row] for stages in rounds_ms) for row in ROWS})
    if exceeded:
        typer.echo(f"above the budget: {', '.join(exceeded)}")
    raise typer.Exit(1 if check and exceeded else 0)


if __name__ == "__main__":
    typer.run(main)
