"""One second of load on every server of `plates bench --peers`; the test starts all of them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from workshop.benchmarks.bench.plan import IN_PROCESS
from workshop.benchmarks.bench.report import BenchReport
from workshop.benchmarks.peers import session
from workshop.reporting.files import read_report

pytestmark = pytest.mark.nightly
SMALL = (
    "--plates=1",
    "--concurrency=1",
    "--seconds=0.2",
    "--rounds=1",
    "--pictures=1",
    "--threads=1",
)


def test_every_server_is_measured_beside_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "usable_cores", lambda: 1)  # one worker of the peer
    result = CliRunner().invoke(app, ["bench", "--peers", *SMALL, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    report = read_report(BenchReport, tmp_path / "report.json")
    cells = {cell.key.transport: cell for cell in report.cells}
    assert {"Triton", "gateway REST", "FastAPI", IN_PROCESS} <= cells.keys()
    assert {cell.plates for cell in cells.values()} == {1}
    assert min(cell.load.cpu_ms.server for cell in cells.values()) > 0
    assert min(cell.peaks.memory_bytes for cell in cells.values()) > 100_000_000
    titles = {ratio.title for ratio in report.ratios}
    assert {"Triton / FastAPI", "gateway REST / FastAPI", "Triton / in-process"} <= titles
    assert [one.name for one in report.servers] == ["Triton", "gateway REST", "FastAPI"]
