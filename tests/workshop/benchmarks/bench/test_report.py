"""The command with what is measured replaced by figures made up: report, tables, notes, plot."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.contract import MODEL
from workshop.benchmarks.bench import report as report_module
from workshop.benchmarks.bench.plan import Key, Plan, list_keys
from workshop.benchmarks.bench.report import BenchReport
from workshop.benchmarks.bench.server import ServerFacts
from workshop.benchmarks.bench.session import Results
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.processes import Peaks
from workshop.reporting.files import read_report

COUNTERS = {
    f"{MODEL} request_success": 4.0,
    f"{MODEL} compute_infer_duration_us": 80_000.0,
    "picture stage_count": 4.0,
    "picture stage_sum": 0.012,
}


def made_up(key: Key, *, ms: float = 100.0, **changes: object) -> Round:
    values = {
        "seconds": 2.0,
        "latencies_ms": (ms,) * 4 * key.concurrency,
        "plates": int(key.picture.split()[0]),
        "cpu_s": Cpu(server=0.8, client=0.01),
        "peaks": Peaks(10**9, 4 * 10**7),
        "counters": COUNTERS,
    }
    return Round(**values | changes)


@pytest.fixture
def bench(monkeypatch, tmp_path: Path):
    """Run the command on figures made up; those of a call are changed by the keywords."""

    def invoke(
        *arguments: object,
        end_reason: str = "",
        out: str = "new",
        has_concurrency: bool = True,
        has_plot: bool = False,
        **changes: object,
    ):
        def measure(plan: Plan, pictures: list) -> Results:
            names = [picture.name for picture in pictures]
            return Results(
                rounds={
                    key: [made_up(key, **changes)] * plan.rounds for key in list_keys(plan, names)
                },
                server=ServerFacts("2.51.0", {}, "cpu", plan.server.engine.value),
                end_reason=end_reason,
                rounds_done=plan.rounds,
            )

        monkeypatch.setattr(report_module, "measure", measure)
        if not has_plot:
            monkeypatch.setattr(report_module, "draw", lambda cells, path: None)
        small = ["--plates", "0", "--out", tmp_path / out]
        small += ["--concurrency", "1,4,16"] if has_concurrency else []
        return CliRunner().invoke(app, ["bench", *map(str, [*small, *arguments])])

    return invoke


def lines(result) -> list[str]:
    """The printed lines, blanks squeezed."""
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_figures_are_printed(bench) -> None:
    result = bench()
    assert result.exit_code == 0
    rows = lines(result)
    assert "served / in process, x16 1.00" in rows
    assert "0 plates http-encoded x4 0 48 0 0 8.00 100 100 50.0 0.40 0.62 1000 40.0" in rows
    assert "0 plates in-process x4 3.00 0.00 0.00 0.00 0.00 0.00 0.00 3.00" in rows


def test_the_report_is_written_as_it_is_printed(bench, tmp_path: Path) -> None:
    result = bench(has_plot=True)
    folder = tmp_path / "new"
    assert (folder / "report.txt").read_text() == result.stdout
    assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
    report = read_report(BenchReport, folder / "report.json")
    assert len(report.cells) == 4 * 3
    assert (report.machine.triton, report.pictures[0].width_px) == ("2.51.0", 1280)


def test_a_failed_call_is_shown_and_fails_the_command(bench) -> None:
    result = bench("--transport", "grpc", "--rounds", "1", errors=2, first_error="HTTP 500: no")
    assert result.exit_code == 1
    assert "0 plates, grpc x4: 2 errors, the first: HTTP 500: no" in result.stdout


def test_an_interrupted_run_reports_what_it_has(bench) -> None:
    result = bench("--transport", "grpc", end_reason="interrupted", has_plot=True, latencies_ms=())
    assert result.exit_code == 1
    assert "the run ended early: interrupted" in result.stdout
    assert "0 plates grpc x1 0 0 0 0 0.00 - - - - - 1000 40.0" in lines(result)


def test_the_grid_is_thin_unless_cells_are_named(bench, tmp_path: Path) -> None:
    def cells(*arguments: str) -> int:
        bench(*arguments, has_concurrency=False)
        return len(read_report(BenchReport, tmp_path / "new" / "report.json").cells)

    assert [cells(), cells("--concurrency", "1,2,4,8,16"), cells("--concurrency", "1,2")] == [
        14,
        20,
        8,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--plates", "many"), "plates: wanted whole numbers", id="plates"),
        pytest.param(("--transport", "post"), "transport: wanted some of", id="transport"),
        pytest.param(("--file", "none.jpg"), "none.jpg: cannot be read", id="file"),
        pytest.param(("--url", "http://x:1"), "url: wanted host:port, got http", id="url"),
        pytest.param(("--out", "/dev/null/x"), "/dev/null/x: cannot write here", id="out"),
    ],
)
def test_bad_input_is_one_sentence(bench, arguments: tuple, message: str) -> None:
    result = bench(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_server_that_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    small = ["--plates", "0", "--url", "localhost:1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, ["bench", *small])
    assert result.exit_code == 2
    assert "http://localhost:1/v2" in result.stderr
