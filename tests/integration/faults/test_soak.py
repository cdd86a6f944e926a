"""A short soak test of a real service: all answers are correct, and a report is written."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.networks.registry import NETWORKS
from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.soak import request_kinds
from workshop.benchmarks.soak.report import ALLOWANCES, SoakReport
from workshop.benchmarks.soak.request_kinds import StreetRecipe
from workshop.benchmarks.soak.trends import Allowance
from workshop.reporting.files import read_report

CALLS = 100
STREETS = {
    "0 plates, JPEG": StreetRecipe(0, (640, 480), ".jpg"),
    "1 plate, PNG": StreetRecipe(1, (640, 480), ".png"),
    "1 plate, too large for pixels, BMP": StreetRecipe(1, (640, 480), ".bmp", 4),
    "2 plates, WebP": StreetRecipe(2, (640, 480), ".webp"),
}
"""Sizes of the drawn streets of a run, smaller than usual."""
ALL_ARENAS = Allowance(noise=1024.0, per_1000=0.1)
"""The allowed growth of memory. A run of a hundred calls ends while the allocator still fills its
arenas, eight for each core; `plates soak` leaves out 500 calls for that."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run's report. The service processes one picture at once."""
    prepare(ServerOptions())
    folder = tmp_path_factory.mktemp("soak")
    arguments = ["soak", f"--calls={CALLS}", "--every=0.25", "--pictures=1", f"--out={folder}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request_kinds, "STREETS", STREETS)
        patch.setitem(ALLOWANCES, "memory_mb", ALL_ARENAS)
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return folder


def test_every_call_gets_its_answer_and_nothing_grows(out: Path) -> None:
    report = read_report(SoakReport, out / "report.json")
    assert (report.calls.total, report.calls.failed) == (CALLS, 0)
    assert report.calls.refused + report.calls.dropped == CALLS // 10
    assert not report.has_failed


def test_every_process_is_looked_at(out: Path) -> None:
    report = read_report(SoakReport, out / "report.json")
    roles = {quantity.of for quantity in report.quantities if quantity.name == "memory_mb"}
    assert roles >= {"supervisor", "gateway", "tritonserver", "plate_recognition", *NETWORKS}
    memory_mb = [quantity.trend.most for quantity in report.quantities if quantity.of in roles]
    assert min(memory_mb) > 0


def test_samples_and_a_plot_are_written(out: Path) -> None:
    with (out / "samples.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    assert (lines[-1]["calls"], float(lines[-1]["shm_mb"]) > 0) == (str(CALLS), True)
    assert (out / "soak.png").read_bytes().startswith(b"\x89PNG")
