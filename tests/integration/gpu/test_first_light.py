"""The rehearsal on a CPU of the checks for a new GPU: all steps, each in its own process."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from workshop.benchmarks.first_light.__main__ import list_steps, main
from workshop.benchmarks.first_light.steps import REHEARSAL, StepResult
from workshop.reporting.files import read_report

pytestmark = pytest.mark.nightly


def rehearse(out: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "workshop.benchmarks.first_light", "--rehearse", "--out", out]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_step_has_a_result_and_a_second_run_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    child = rehearse(tmp_path / "out")
    assert child.returncode == 0, child.stderr
    steps = list_steps(REHEARSAL)
    results = {name: read_report(StepResult, tmp_path / "out" / f"{name}.json") for name in steps}
    assert all(step.rows and not step.wrong for step in results.values())
    assert {row[3] for row in results["tensors"].rows} == {"cpu"}
    assert results["answers"].figures["different, share"] == 0
    assert min(results["settings-default"].figures.values()) > 0
    assert min(float(row[7]) for row in results["faults"].rows) > 0  # seconds of the recovery
    page = (tmp_path / "out" / "page.md").read_text()
    assert all(f"## {step.title}" in page for step in results.values())
    (tmp_path / "out" / "machine.json").unlink()
    with pytest.raises(typer.Exit) as second_run:
        main(out=tmp_path / "out", rehearse=True)
    assert (second_run.value.exit_code, capfd.readouterr().err) == (0, "machine ...\n")
