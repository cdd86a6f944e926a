"""Programs that measure on demand: the protocol, the predecessor, and the pipeline in process."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks import child
from benchmarks.load import Sample
from benchmarks.pictures import rendered
from benchmarks.plan import Task
from orchestrator.errors import ServerError
from orchestrator.networks.engines import Engine

STAGES = """\
import json, sys
print("ready", flush=True)
for line in sys.stdin:
    ms = {"detector": 90.5, "stn": 5, "lprnet": float(len(line.strip()))}
    print(json.dumps(ms), flush=True)
"""


def program(folder: Path, text: str) -> Path:
    path = folder / "predecessor.py"
    path.write_text(text)
    return path


def task(folder: Path, **changed: object) -> Task:
    return Task(folder, predecessor=Path(sys.executable), predecessor_weights=folder, **changed)


def test_without_a_predecessor_there_is_no_child(tmp_path: Path) -> None:
    with child.predecessor(Task(tmp_path)) as former:
        assert former is None


def test_the_predecessor_is_given_a_picture_and_gives_its_stages(tmp_path: Path) -> None:
    with child.predecessor(task(tmp_path), program(tmp_path, STAGES)) as former:
        rows = child.stages(former, Path("a.jpg"))
        assert [(row["stage"], row["rows"], row["ms"]) for row in rows] == [
            ("predecessor detector", 1, 90.5),
            ("predecessor stn", 1, 5),
            ("predecessor lprnet", 1, 5),
            ("predecessor total", 1, 100.5),
        ]
        assert child.stages(former, Path("ab.jpg"))[3]["ms"] == 101.5
        pid = former.process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_predecessor_is_given_its_weights_and_its_own_ways(tmp_path: Path) -> None:
    text = "import os, sys; sys.exit(f'{sys.argv[1:]} {os.environ.get(\"OMP_WAIT_POLICY\")}')"
    script = program(tmp_path, text)
    with (
        pytest.raises(ServerError, match=rf"its end: \['--weights', '{tmp_path}'\] None"),
        child.predecessor(task(tmp_path), script),
    ):
        pass


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param('{"detector": "slow"}', "wanted milliseconds for each stage", id="text"),
        pytest.param("{}", "wanted milliseconds for each stage", id="nothing"),
        pytest.param("[1]", "wanted a JSON object, got '\\[1\\]'", id="list"),
        pytest.param("warming up", "wanted a JSON object, got 'warming up'", id="chatter"),
    ],
)
def test_another_answer_is_an_error(tmp_path: Path, answer: str, message: str) -> None:
    text = f"print('ready', flush=True)\ninput()\nprint({answer!r}, flush=True)\ninput()"
    with (
        child.predecessor(task(tmp_path), program(tmp_path, text)) as former,
        pytest.raises(ServerError, match=f"predecessor: {message}"),
    ):
        child.stages(former, Path("a.jpg"))


def test_a_missing_script_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match=r"wanted the script none\.py"),
        child.predecessor(task(tmp_path), tmp_path / "none.py"),
    ):
        pass


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


def test_a_child_that_ends_between_questions_is_an_error() -> None:
    text = "print('ready', flush=True); input(); raise SystemExit('out of memory')"
    with child.running("fake", [sys.executable, "-c", text], {}) as fake:
        with pytest.raises(ServerError, match="its end: out of memory"):
            fake.ask("go")
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
