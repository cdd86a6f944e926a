"""Programs that measure on demand: the protocol, and the pipeline in process."""

import sys
from pathlib import Path

import pytest

from benchmarks.child import run_child, run_worker
from benchmarks.load import Round
from benchmarks.metrics import look_inside
from benchmarks.pictures import render
from benchmarks.plan import Plan
from benchmarks.worker import Bounds, Job
from orchestrator.errors import ServerError
from orchestrator.networks.engines import Engine
from orchestrator.stages import STAGES

JOB = Job("a.jpg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("print('hello')", "fake: wanted 'ready', got 'hello'", id="no greeting"),
        pytest.param("raise OSError('no weights')", "its end: OSError: no weights", id="dies"),
        pytest.param("", "its end: it left no message", id="silent"),
    ],
)
def test_a_child_that_does_not_become_ready_is_an_error(text: str, message: str) -> None:
    with (
        pytest.raises(ServerError, match=message),
        run_child("fake", [sys.executable, "-c", text], {}),
    ):
        pass


def test_a_program_that_is_none_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="wanted a program, got No such file"),
        run_child("fake", [str(tmp_path / "python")], {}),
    ):
        pass


@pytest.mark.parametrize("answer", ["[1]", "warming up", "{}", '{"bounds": [{"ms": "slow"}]}'])
def test_another_answer_is_an_error(answer: str) -> None:
    text = f"print('ready', flush=True)\ninput()\nprint({answer!r}, flush=True)\ninput()"
    with (
        run_child("fake", [sys.executable, "-c", text], {}) as fake,
        pytest.raises(ServerError, match="fake: wanted Bounds as JSON, got"),
    ):
        fake.ask(Bounds, JOB)


def test_a_child_is_gone_after_the_block() -> None:
    text = "print('ready', flush=True); input()"
    with run_child("fake", [sys.executable, "-c", text], {}) as fake:
        assert fake.process.poll() is None
    assert fake.process.poll() is not None


def test_a_child_that_ends_between_questions_is_an_error() -> None:
    text = "print('ready', flush=True); input(); raise SystemExit('out of memory')"
    with run_child("fake", [sys.executable, "-c", text], {}) as fake:
        with pytest.raises(ServerError, match="its end: out of memory"):
            fake.ask(Bounds, JOB)
        with pytest.raises(ServerError, match="its end: out of memory"):
            fake.ask(Bounds, JOB)


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pictures") / "one.jpg"
    path.write_bytes(render(1).encoded)
    return str(path)


@pytest.fixture(scope="module", params=[Engine.TORCHSCRIPT, Engine.OPENVINO])
def worker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    out = tmp_path_factory.mktemp("out")
    one_thread = Plan(out=out, threads=1, device="cpu", engine=request.param.value)
    parameters = {"max_plates": {"string_value": "5"}}
    with run_worker(one_thread, parameters) as started:
        yield started


def test_the_pipeline_is_loaded(worker, picture) -> None:
    measured = worker.ask(Round, Job(picture, concurrency=2, seconds=0.2))
    assert measured.plates == 1
    assert len(measured.latencies_ms) >= 2
    assert measured.throughput > 0
    assert measured.cpu_s.server > 0
    assert measured.peaks.memory_bytes > 50_000_000
    assert measured.errors == 0


def test_the_stages_of_a_load_are_the_services_own(worker, picture) -> None:
    measured = worker.ask(Round, Job(picture, concurrency=1))
    inside = look_inside(measured.counters)
    assert tuple(inside.stages_ms) == STAGES
    assert min(inside.stages_ms.values()) > 0


def test_stages_are_timed_alone(worker, picture) -> None:
    bounds = worker.ask(Bounds, Job(picture)).bounds
    names = ("picture", "letterbox", "yolo", "stn", "lprnet")
    assert [(one.stage, one.rows) for one in bounds] == [(name, 1) for name in names]
    assert all(one.ms > 0 for one in bounds)


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match=r"in-process: wanted an answer, .*WeightsError"),
        run_worker(Plan(out=tmp_path, weights=tmp_path, threads=1), {}),
    ):
        pass
