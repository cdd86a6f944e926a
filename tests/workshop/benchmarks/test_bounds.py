"""The pipeline in a process of its own."""

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ServerError, WeightsError
from orchestrator.networks.engines import Engine
from orchestrator.supervisor.options import ServerOptions
from orchestrator.triton.stages import STAGES
from workshop.benchmarks.bounds import Worker, run_worker
from workshop.benchmarks.metrics import look_inside
from workshop.benchmarks.pictures import render

CPU = ServerOptions(threads=1, device="cpu")
PICTURE = render(1).encoded


@pytest.fixture(scope="module", params=[Engine.TORCHSCRIPT, Engine.OPENVINO])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    options = replace(CPU, engine=request.param)
    with run_worker(options, {"max_plates": {"string_value": "5"}}) as started:
        yield started


def test_the_pipeline_is_loaded(worker: Worker) -> None:
    measured = worker.load(PICTURE, concurrency=2, seconds=0.2)
    assert measured.plates == 1
    assert len(measured.latencies_ms) >= 2
    assert measured.throughput > 0
    assert measured.cpu_s.server > 0
    assert measured.peaks.memory_bytes > 50_000_000
    assert measured.errors == 0


def test_the_stages_of_a_load_are_the_services_own(worker: Worker) -> None:
    inside = look_inside(worker.load(PICTURE, concurrency=1, seconds=0.1).counters)
    assert tuple(inside.stages_ms) == STAGES
    assert min(inside.stages_ms.values()) > 0


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(WeightsError, match=str(tmp_path)),
        run_worker(replace(CPU, weights=tmp_path), {}),
    ):
        pass


def test_a_worker_that_ended_is_an_error_and_leaves_no_process() -> None:
    others = {*multiprocessing.active_children()}
    with run_worker(CPU, {}) as worker:
        (process,) = {*multiprocessing.active_children()} - others
        process.kill()
        with pytest.raises(ServerError, match="in-process: the worker process ended"):
            worker.load(PICTURE, concurrency=1, seconds=0.1)
    assert {*multiprocessing.active_children()} == others
