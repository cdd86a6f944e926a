"""The pipeline in a process of its own."""

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ServerError, WeightsError
from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.triton.stages import STAGES
from workshop.benchmarks.bench.metrics import look_inside
from workshop.benchmarks.bench.session import run_worker
from workshop.benchmarks.pictures import render

pytestmark = pytest.mark.server

CPU = ServerOptions(threads=1, device="cpu", engine=Engine.TORCHSCRIPT)


def test_a_worker_measures_the_pipeline_until_it_ends() -> None:
    others = {*multiprocessing.active_children()}
    picture = render(1, (640, 480)).file_bytes
    with run_worker(CPU, {"max_plates": {"string_value": "5"}}) as worker:
        result = worker.load(picture, concurrency=2, seconds=0.2)
        (process,) = {*multiprocessing.active_children()} - others
        process.kill()
        with pytest.raises(ServerError, match="in-process: the worker process ended"):
            # More bytes than the pipe holds could hang Python 3.11.2 (CPython issue 94777).
            worker.load(b"", concurrency=1, seconds=0.1)
    assert {*multiprocessing.active_children()} == others
    assert (result.plates, result.errors) == (1, 0)
    assert len(result.latencies_ms) >= 2
    assert min(result.throughput, result.cpu_s.server) > 0
    assert result.peaks.memory_bytes > 50_000_000
    inside = look_inside(result.counters)
    assert tuple(inside.stages_ms) == STAGES
    assert min(inside.stages_ms.values()) > 0


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(WeightsError, match=str(tmp_path)),
        run_worker(replace(CPU, weights=tmp_path), {}),
    ):
        pass
