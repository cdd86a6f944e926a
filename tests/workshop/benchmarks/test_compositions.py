"""Compositions are compared only where they answer alike; what they use up is counted by hand."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from orchestrator.supervisor.model_repository import CONFIG, list_models, read_config
from orchestrator.supervisor.options import ServerOptions
from workshop.benchmarks.compositions.answers import differ
from workshop.benchmarks.compositions.figures import (
    Cell,
    CellFigures,
    CompositionsReport,
    Sample,
    sum_up,
)
from workshop.benchmarks.compositions.spending import SERVER, Ledger, Spent, read_spent
from workshop.benchmarks.compositions.tables import format_tables
from workshop.benchmarks.compositions.traffic import Traffic, count, count_shm_bytes, walk
from workshop.benchmarks.compositions.workloads import OCR, PLATES, Form
from workshop.benchmarks.load import Cpu, Round
from workshop.reporting.machine import describe_machine

ANSWER = {
    "coordinates": np.array([[1, 2, 3, 4]], np.float32),
    "texts": np.array([[b"A001AA77"]], np.object_),
    "text_scores": np.array([[0.9]], np.float32),
    "detection_scores": np.array([[0.8]], np.float32),
}
CALLING = Form("bls", "caller", ("caller",), ("net",))
GRAPH = Form("ensemble", "graph", ("before", "after"), ("net",))
ALONE = Form("monolith", "alone", ("alone",))
TRAFFIC = {
    "caller": Traffic(100, 10),
    "alone": Traffic(100, 10),
    "before": Traffic(100, 50),
    "net": Traffic(40, 8),
    "after": Traffic(8, 10),
}
STEPS = """
name: "graph"
ensemble_scheduling {
  step {
    model_name: "before"
    input_map { key: "file" value: "encoded_image" }
    output_map { key: "pixels" value: "picture" }
    output_map { key: "sides" value: "size" }
  }
  step {
    model_name: "after"
    input_map { key: "x" value: "picture" }
    output_map { key: "texts" value: "texts" }
  }
}
"""


def test_equal_answers_do_not_differ() -> None:
    assert differ(ANSWER, {name: array.copy() for name, array in ANSWER.items()}) == ""


@pytest.mark.parametrize(
    ("output", "array"),
    [
        pytest.param("texts", np.array([[b"A001AA78"]], np.object_), id="another text"),
        pytest.param("coordinates", np.array([[1, 2, 3, 4.1]], np.float32), id="another box"),
        pytest.param("text_scores", np.empty((0, 1), np.float32), id="fewer plates"),
    ],
)
def test_a_different_output_is_named(output: str, array: np.ndarray) -> None:
    assert differ(ANSWER, ANSWER | {output: array}).startswith(f"{output}: wanted")


def test_every_form_of_ocr_is_laid_out_with_as_many_instances(tmp_path: Path) -> None:
    options = ServerOptions(repository=OCR.repository, device="cpu", pictures=1)
    folder = OCR.lay_out(options, tmp_path / "models")
    named = {name for form in OCR.forms for name in (form.model, *form.workers)}
    assert set(list_models(folder)) == named
    counts = [read_config(folder / name / CONFIG).instance_group for name in named]
    assert {group.count for groups in counts for group in groups} == {1}


def test_the_wide_ensemble_hands_every_probability_on(tmp_path: Path) -> None:
    folder = OCR.lay_out(ServerOptions(repository=OCR.repository, device="cpu"), tmp_path / "new")
    steps = read_config(folder / "ocr_ensemble_wide" / CONFIG).ensemble_scheduling.step
    assert dict(steps[-2].output_map) == {"every_prob": "every_prob"}
    assert set(steps[-1].input_map) == {"every_prob", "corners", "detection_scores", "steps"}


def test_a_string_has_its_length_before_it() -> None:
    texts = np.array([[b"A1"], [b""]], np.object_)
    assert count([np.zeros((2, 3), np.float32), texts]) == 24 + 6 + 4


def test_a_graph_is_walked_with_its_own_names_for_tensors() -> None:
    asked: list[tuple[str, dict, Sequence[str]]] = []

    def ask(model: str, inputs: dict, outputs: Sequence[str]) -> dict:
        asked.append((model, {name: array.size for name, array in inputs.items()}, outputs))
        return {name: np.zeros(2, np.uint8) for name in outputs}

    graph = text_format.Parse(STEPS, ModelConfig())
    found = walk(graph, {"encoded_image": np.zeros(5, np.uint8)}, ask)
    assert found == {"before": Traffic(5, 4), "after": Traffic(2, 2)}
    assert [model for model, _, _ in asked] == ["before", "after"]
    assert asked[1] == ("after", {"x": 2}, ["texts"])
    assert sorted(asked[0][2]) == ["pixels", "sides"]


@pytest.mark.parametrize(
    ("form", "calls", "wanted"),
    [
        pytest.param(ALONE, {"alone": 1}, 110, id="one process: in and out"),
        pytest.param(GRAPH, {"before": 1, "net": 1, "after": 1}, 150 + 48 + 18, id="graph"),
        pytest.param(CALLING, {"caller": 1, "net": 1}, 110 + 2 * 48, id="a call crosses twice"),
        pytest.param(CALLING, {"caller": 1, "net": 0.5}, 110 + 48, id="every second call"),
        pytest.param(CALLING, {"caller": 1, "net": 0}, 110, id="leaves early"),
    ],
)
def test_bytes_are_counted_by_edge(form: Form, calls: dict, wanted: float) -> None:
    assert count_shm_bytes(form, calls, TRAFFIC) == wanted


def test_a_process_is_read_with_all_its_threads(tmp_path: Path) -> None:
    process = tmp_path / "7"
    (process / "task" / "7").mkdir(parents=True)
    (process / "task" / "8").mkdir()
    ticks = os.sysconf("SC_CLK_TCK")
    stat = f"7 (a (b) c) S 1 7 7 0 -1 0 30 0 0 0 {2 * ticks} {ticks} 0 0"
    (process / "stat").write_text(stat)
    lines = "voluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}\n"
    (process / "task" / "7" / "status").write_text(lines.format(5, 1))
    (process / "task" / "8" / "status").write_text(lines.format(10, 2))
    assert read_spent([7, 9], tmp_path) == Spent(2, 1, waits=15, preemptions=3, faults=30)


def test_a_ledger_has_what_was_used_between_its_readings() -> None:
    ledger = Ledger({"us": (os.getpid(),), "nobody": ()})
    before = ledger.read()
    sum(range(3_000_000))
    after = ledger.read()
    used = ledger.used()
    assert used["us"].cpu_s == pytest.approx(after.server - before.server)
    assert used["us"].cpu_s > 0
    assert used["nobody"] == Spent()
    assert ledger.machine_s() >= 0


def sample(**counted: float) -> Sample:
    """Two seconds, ten calls of 100 ms, 3 of the machine's CPU seconds, 1.5 of them ours."""
    counters = {name.replace("__", " "): value for name, value in counted.items()}
    load = Round(2.0, (100.0,) * 10, cpu_s=Cpu(1.0, 0.5), counters=counters)
    spent = {SERVER: Spent(0.2, 0.1), "caller": Spent(0.3), "net": Spent(0.4, waits=50)}
    return Sample(load, spent, machine_s=3.0)


COUNTED = sample(
    caller__request_success=20, caller__exec_count=20, caller__compute_infer_duration_us=1_800_000,
    net__request_success=40, net__exec_count=20, net__queue_duration_us=200_000,
)  # fmt: skip


def test_a_cell_is_counted_for_each_call() -> None:
    cell = Cell("bls", "small", instances=1, concurrency=1)
    found = sum_up("plates", CALLING, cell, [COUNTED], TRAFFIC, cores=2)
    assert found.hops == 3  # itself, and the network twice
    assert found.shm_bytes == 110 + 2 * 2 * 48
    assert found.models["net"].queue_ms == 10
    assert found.models["caller"].compute_ms == 90
    assert found.spent["net"] == Spent(0.04, waits=5)
    assert found.idle == pytest.approx(1 - 3 / 4)
    assert found.others == pytest.approx(0.75)


def test_a_report_shows_every_form_and_what_it_is_compared_with() -> None:
    forms = [PLATES.forms[0], PLATES.forms[2]]
    cells = [_cell(form) for form in forms]
    text = format_tables(
        CompositionsReport("today", describe_machine("2.51"), 2.0, 1, tuple(cells), (), {}),
        [PLATES],
    )
    assert "| small | bls | 1 | 5.00 | 100 |" in text
    assert "| small | monolith | 1 | 1.00 |" in text
    assert "| small | bls | x1 | 4.00 | 0.00 | 400 | 100 | 100 | 200 |" in text


def _answered(form: Form) -> Sample:
    """Ten calls, of which each process has used a second; the two light networks share one."""
    counters = {f"{name} request_success": 10.0 for name in (form.model, *form.workers)}
    spent = {name: Spent(1.0) for name in (SERVER, *form.workers)} | {"stn": Spent()}
    return Sample(Round(2.0, (100.0,) * 10, counters=counters), spent, 1.0)


def _cell(form: Form) -> CellFigures:
    cell, no_bytes = Cell(form.name, "small", 1, 1), dict.fromkeys(form.workers, Traffic(0, 0))
    return sum_up("plates", form, cell, [_answered(form)], no_bytes, cores=2)
