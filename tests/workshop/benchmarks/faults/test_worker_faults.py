"""Requests that break workers: on a CPU they really do, at inputs of the right size alone."""

import subprocess
import sys
from importlib import import_module
from signal import SIGSEGV
from types import SimpleNamespace

import numpy as np
import pytest

from tests.triton import fake_triton
from workshop.benchmarks.faults import breaking
from workshop.benchmarks.faults.breaking import (
    ACCESS_PX,
    DETECTOR_PX,
    LACK_S,
    MEMORY_PX,
    PIPELINE_PX,
    Breaker,
)
from workshop.benchmarks.faults.harmful_requests import (
    Attempt,
    describe,
    find_blamed,
    find_no_lack,
    find_no_rejection,
    list_worker_faults,
    watch_probes,
)
from workshop.benchmarks.load.connections import ANSWERED, LOST, Reply
from workshop.benchmarks.service import wait

ACCESS = """
from workshop.benchmarks.faults.breaking import ACCESS_PX, PIPELINE_PX, Breaker
Breaker(PIPELINE_PX).look((PIPELINE_PX, ACCESS_PX), "cpu")
"""


def test_a_wrong_access_ends_a_process_on_a_cpu() -> None:
    result = subprocess.run([sys.executable, "-c", ACCESS], capture_output=True, check=False)
    assert result.returncode == -SIGSEGV


def test_memory_is_back_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr(breaking, "time", clock)
    breaker = Breaker(PIPELINE_PX)
    with pytest.raises(MemoryError):
        breaker.look((PIPELINE_PX, MEMORY_PX), "cpu")
    clock.monotonic = lambda: 100.0 + LACK_S
    breaker.look((PIPELINE_PX, MEMORY_PX), "cpu")


def test_inputs_for_another_worker_break_nothing() -> None:
    for width in (ACCESS_PX, MEMORY_PX):
        Breaker(DETECTOR_PX).look((PIPELINE_PX, width), "cpu")
        Breaker(PIPELINE_PX).look((DETECTOR_PX, width), "cpu")


def test_a_faulty_pipeline_recognizes_other_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    pipeline = import_module("orchestrator.triton.plate_recognition")
    monkeypatch.setattr(pipeline, "recognize", pipeline.recognize)  # put back afterwards
    module = import_module("workshop.benchmarks.faults.breaking_model")
    monkeypatch.setattr(module, "recognize", lambda picture, _: [*picture.shape])
    monkeypatch.delitem(sys.modules, module.__name__)
    assert pipeline.recognize(np.zeros((600, 800, 3), np.uint8), None) == [600, 800, 3]


@pytest.mark.parametrize(
    ("status", "seconds", "is_rejection", "is_lack"),
    [
        pytest.param("400", 5.0, True, False, id="rejected"),
        pytest.param("answered", LACK_S + 0.1, False, True, id="answered later"),
        pytest.param("answered", 0.1, False, False, id="answered at once"),
        pytest.param("lost", 40.0, False, False, id="no answer"),
    ],
)
def test_the_request_itself_is_judged(
    status: str, seconds: float, is_rejection: bool, is_lack: bool
) -> None:
    attempt = Attempt(Reply(status), seconds)
    assert (find_no_rejection(attempt) == ()) is is_rejection
    assert (find_no_lack(attempt) == ()) is is_lack


def test_probes_are_counted_while_they_are_watched() -> None:
    with watch_probes("127.0.0.1:1") as looks:
        wait(lambda: all(len(look.failures) >= 2 for look in looks), "probes", 10.0)
    assert [f"{look}".split(":")[0] for look in looks] == ["healthz", "readyz"]
    assert all(look.failures and all(look.failures) for look in looks)


def test_both_faults_are_made_in_both_workers() -> None:
    assert [fault.name for fault in list_worker_faults("cpu")] == [
        "access-plate_recognition",
        "memory-plate_recognition",
        "access-yolo",
        "memory-yolo",
    ]


RIGHT = Attempt(Reply(ANSWERED), 0.5)
BLAMED = Attempt(Reply("400", error="damaged picture"), 0.25)
FAILED = Attempt(Reply("500", error="no memory"), 1.0)
GONE = Attempt(Reply(LOST), 15.0)


def test_the_first_failure_is_described() -> None:
    assert describe([], "calls") == ("0 calls: 0 answered, 0 not",)
    assert describe([RIGHT, FAILED, GONE], "calls") == (
        "3 calls: 1 answered, 2 not",
        "the first of them: 500 after 1.0 s: no memory",
    )


def test_good_pictures_that_are_rejected_are_counted() -> None:
    answers = (RIGHT, BLAMED, FAILED, GONE)
    assert [answer for answer in answers if answer.is_refused] == [BLAMED, FAILED]
    assert find_blamed([RIGHT, FAILED, GONE]) == ()
    assert find_blamed([BLAMED, RIGHT, BLAMED]) == ("2 good pictures were called bad",)
