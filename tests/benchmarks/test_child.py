"""Programs that measure on demand: the protocol, and the pipeline in process."""

import sys
from pathlib import Path

import pytest

from benchmarks import child
from benchmarks.load import Sample
from benchmarks.pictures import rendered
from benchmarks.plan import Task
from orchestrator.errors import ServerError
from orchestrator.networks.engines import Engine


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
        child.running("fake", [sys.executable, "-c", text], {}),
    ):
        pass


def test_a_program_that_is_none_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="wanted a program, got No such file"),
        child.running("fake", [str(tmp_path / "python")], {}),
    ):
        pass


@pytest.mark.parametrize("answer", ["[1]", "warming up"])
def test_an_answer_that_is_no_object_is_an_error(answer: str) -> None:
    text = f"print('ready', flush=True)\ninput()\nprint({answer!r}, flush=True)\ninput()"
    with (
        child.running("fake", [sys.executable, "-c", text], {}) as fake,
        pytest.raises(ServerError, match="fake: wanted a JSON object, got"),
    ):
        fake.ask({})


def test_a_child_is_gone_after_the_block() -> None:
    text = "print('ready', flush=True); input()"
    with child.running("fake", [sys.executable, "-c", text], {}) as fake:
        assert fake.process.poll() is None
    assert fake.process.poll() is not None


def test_a_child_that_ends_between_questions_is_an_error() -> None:
    text = "print('ready', flush=True); input(); raise SystemExit('out of memory')"
    with child.running("fake", [sys.executable, "-c", text], {}) as fake:
        with pytest.raises(ServerError, match="its end: out of memory"):
            fake.ask({})
        with pytest.raises(ServerError, match="its end: out of memory"):
            fake.ask({"do": "go"})


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pictures") / "one.jpg"
    path.write_bytes(rendered(1).encoded)
    return str(path)


@pytest.fixture(scope="module", params=[Engine.TORCHSCRIPT, Engine.OPENVINO])
def worker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    out = tmp_path_factory.mktemp("out")
    one_thread = Task(out, threads=1, device="cpu", engine=request.param)
    parameters = {"max_plates": {"string_value": "5"}}
    with child.worker(one_thread, parameters) as started:
        yield started


def test_the_pipeline_is_loaded(worker, picture) -> None:
    question = {"do": "load", "picture": picture, "concurrency": 2, "seconds": 0.2}
    sample = Sample(**worker.ask(question))
    assert sample.plates == 1
    assert len(sample.latencies_ms) >= 2
    assert sample.throughput > 0
    assert sample.used["cpu_s"] > 0
    assert sample.peaks["memory_bytes"] > 50_000_000
    assert sample.errors == 0


def test_stages_are_timed_alone(worker, picture) -> None:
    answer = worker.ask({"do": "bare", "picture": picture})
    stages = [(row["stage"], row["rows"]) for row in answer["bare"]]
    names = ("decode", "letterbox", "yolo", "stn", "lprnet")
    assert stages == [(name, 1) for name in names]
    assert all(row["ms"] > 0 for row in answer["bare"])


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match=r"in-process: wanted an answer, .*WeightsError"),
        child.worker(Task(tmp_path, weights=tmp_path, threads=1), {}),
    ):
        pass
