"""Workers that break: on a CPU they really do, and only at inputs of the right size."""

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
    find_no_lack,
    find_no_rejection,
    list_worker_faults,
    watch_probes,
)
from workshop.benchmarks.load.connections import Reply
from workshop.benchmarks.service import wait

ACCESS = """
from workshop.benchmarks.faults.breaking import ACCESS_PX, PIPELINE_PX, Breaker
Breaker(PIPELINE_PX).look((PIPELINE_PX, ACCESS_PX), "cpu")
"""


def test_a_wrong_access_ends_a_process_on_a_cpu() -> None:
    done = subprocess.run([sys.executable, "-c", ACCESS], capture_output=True, check=False)
    assert done.returncode == -SIGSEGV


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


@pytest.mark.parametrize("name", ["breaking_model", "hanging_model"])
def test_a_faulty_pipeline_recognizes_other_pictures(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    pipeline = import_module("orchestrator.triton.plate_recognition")
    monkeypatch.setattr(pipeline, "recognize", pipeline.recognize)  # put back afterwards
    module = import_module(f"workshop.benchmarks.faults.{name}")
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
        wait(lambda: all(len(look.failed) >= 2 for look in looks), "probes", 10.0)
    assert [f"{look}".split(":")[0] for look in looks] == ["healthz", "readyz"]
    assert all(look.failed and all(look.failed) for look in looks)


def test_both_faults_are_made_in_both_workers() -> None:
    assert [fault.name for fault in list_worker_faults("cpu")] == [
        "access-plate_recognition",
        "memory-plate_recognition",
        "access-yolo",
        "memory-yolo",
    ]
