"""Compositions are compared only where they answer alike."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import ModelError
from orchestrator.serving.supervisor.model_repository import CONFIG, list_models, read_config
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.compositions.answers import Tensors, check, differ
from workshop.benchmarks.compositions.measurement import sum_up
from workshop.benchmarks.compositions.tables import (
    Cell,
    CellFigures,
    CompositionsReport,
    Memory,
    format_tables,
)
from workshop.benchmarks.compositions.workloads import OCR, PLATES, Form
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.pictures import Picture
from workshop.reporting.machine import describe_machine

ANSWER = {
    "coordinates": np.array([[1, 2, 3, 4]], np.float32),
    "texts": np.array([[b"A001AA77"]], np.object_),
    "text_scores": np.array([[0.9]], np.float32),
    "detection_scores": np.array([[0.8]], np.float32),
}


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


def test_a_form_with_another_answer_is_named() -> None:
    street = Picture("street", b"", np.zeros((1, 1, 3), np.uint8))
    wrong = ANSWER | {"texts": np.array([[b"A001AA78"]], np.object_)}

    def infer(model: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        return wrong if model == "plates_monolith" else ANSWER

    with pytest.raises(ModelError, match="monolith, street: texts: wanted"):
        check(PLATES, [street], infer)


def test_every_form_of_ocr_is_laid_out_with_as_many_instances(tmp_path: Path) -> None:
    options = ServerOptions(repository=OCR.repository, device="cpu", pictures=1)
    folder = OCR.lay_out(options, tmp_path / "models")
    named = {name for form in OCR.forms for name in (form.model, *form.workers)}
    assert set(list_models(folder)) == named
    counts = [read_config(folder / name / CONFIG).instance_group for name in named]
    assert {group.count for groups in counts for group in groups} == {1}


def cell(name: str, latency_ms: float) -> CellFigures:
    """Ten calls of one form within a second; each calls a network twice."""
    form = Form(name, name, (name,), ("net",))
    counters = {
        f"{name} request_success": 10.0, "net request_success": 20.0, "net exec_count": 10.0,
        "net queue_duration_us": 100_000.0,
    }  # fmt: skip
    round_ = Round(1.0, (latency_ms,) * 10, cpu_s=Cpu(server=0.5), counters=counters)
    return sum_up("plates", form, Cell(name, "small", 1, 4), [round_])


def test_a_report_compares_every_form_with_the_first() -> None:
    memory = (Memory("plates", 1, "bls", 1, 50_000_000),)
    cells = (cell("bls", 100.0), cell("monolith", 50.0))
    text = format_tables(
        CompositionsReport("today", describe_machine("2.51"), 1.0, 1, cells, memory)
    )
    assert "| small | bls | 1 | 4 | 10.0 | 1.00 | 100 | 100 | 50.0 | 3.00 | 10.0 |" in text
    assert "| small | monolith | 1 | 4 | 10.0 | 1.00 | 50.0 |" in text
    assert "| bls | 1 | 1 | 50.0 | 50.0 |" in text
