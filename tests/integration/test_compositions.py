"""The compositions of the plate chain give the same answers, and are measured side by side."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workshop.benchmarks.compositions import measurement
from workshop.benchmarks.compositions.__main__ import app
from workshop.benchmarks.compositions.answers import Infer, check, inputs_of
from workshop.benchmarks.compositions.tables import CompositionsReport
from workshop.benchmarks.compositions.workloads import BLS, ENSEMBLE, MONOLITH, Workload
from workshop.benchmarks.pictures import Picture
from workshop.reporting.files import read_report

pytestmark = pytest.mark.server


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of plates in the pictures for which all compositions gave the same answer."""
    numbers: list[int] = []

    def check_and_count(workload: Workload, pictures: Sequence[Picture], infer: Infer) -> None:
        check(workload, pictures, infer)
        model, outputs = workload.forms[0].model, workload.outputs
        numbers.extend(len(infer(model, inputs_of(one), outputs)["texts"]) for one in pictures)

    monkeypatch.setattr(measurement, "check", check_and_count)
    return numbers


def test_compositions_that_answer_alike_are_measured(tmp_path: Path, found: list[int]) -> None:
    small = ["--instances", "1", "--concurrency", "1", "--seconds", "0.2", "--rounds", "1"]
    result = CliRunner().invoke(app, ["--workload", "plates", *small, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert found == [2, 2, 0]
    report = read_report(CompositionsReport, tmp_path / "report.json")
    hops = {(one.cell.form, one.cell.picture): one.hops for one in report.cells}
    assert hops.items() >= {
        (BLS, "small"): 4, (ENSEMBLE, "small"): 6, (MONOLITH, "small"): 1,
        (BLS, "large, no plate"): 3, (ENSEMBLE, "large, no plate"): 6,
    }.items()  # fmt: skip
    assert {one.models: one.processes for one in report.memory}.items() >= {
        BLS: 1, ENSEMBLE: 3, MONOLITH: 1,
    }.items()  # fmt: skip
    assert "| small | ensemble | 1 | 1 |" in (tmp_path / "tables.md").read_text()
