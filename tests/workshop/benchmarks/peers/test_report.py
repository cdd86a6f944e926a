"""Ratios and tables of the comparison, worked out by hand."""

from pathlib import Path

from workshop.benchmarks.bench.plan import IN_PROCESS, Plan
from workshop.benchmarks.bench.pooling import pool
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.peers.cells import Cell
from workshop.benchmarks.peers.measurement import IdleServer, Results
from workshop.benchmarks.peers.report import PeersReport, find_ratios, write_up
from workshop.benchmarks.peers.run import format_tables
from workshop.benchmarks.processes import Peaks
from workshop.reporting.files import read_report, write_report

PLAN = Plan(out=Path("out"), rounds=2)


def rounds(*calls: int, ms: float = 20.0) -> list[Round]:
    """Return rounds of 1 s with these numbers of calls; a call takes 50 ms of CPU."""
    return [
        Round(1.0, (ms,) * n, plates=4, cpu_s=Cpu(0.05 * n), peaks=Peaks(300_000_000))
        for n in calls
    ]


def found(measured: dict[Cell, list[Round]]) -> dict[tuple[str, int], float]:
    ratios = find_ratios({cell: pool(several) for cell, several in measured.items()})
    return {(ratio.title, ratio.concurrency): ratio.value for ratio in ratios}


def test_ours_are_divided_by_theirs_round_by_round() -> None:
    measured = {
        Cell("street", "Triton", 16): rounds(8, 10),
        Cell("street", "gateway REST", 16): rounds(6, 9),
        Cell("street", "FastAPI", 16): rounds(10, 10),
        Cell("street", IN_PROCESS, 16): rounds(20, 20),
    }
    assert found(measured) == {
        ("Triton / FastAPI", 16): 0.9,
        ("gateway REST / FastAPI", 16): 0.75,
        ("Triton / in-process", 16): 0.45,
        ("gateway REST / in-process", 16): 0.375,
        ("FastAPI / in-process", 16): 0.5,
    }


def test_the_spread_is_that_of_four_calls_at_once() -> None:
    slow = Round(1.0, (20.0,) * 50 + (60.0,) * 50)
    measured = {Cell("street", "FastAPI", count): [slow] for count in (1, 4, 16)}
    assert found(measured) == {("p99 / p50, FastAPI", 4): 1.5}


def test_a_run_is_reported_with_the_ratios_first(tmp_path: Path) -> None:
    measured = {
        Cell("4 plates", "Triton", 4): rounds(8, 8),
        Cell("4 plates", "FastAPI", 4): rounds(10, 10),
    }
    results = Results([*measured], measured, workers=2, rounds_done=2)
    results.idle.append(IdleServer("FastAPI", "0.165.0", 3, 250_000_000))
    report = write_up(PLAN, [], results)
    assert not report.has_failed
    lines = format_tables(report).splitlines()
    assert "2 workers of the peer; 2 of 2 rounds" in lines[0]
    assert lines[4] == "| Triton / FastAPI | 4 | 0.80 |"
    assert "| 4 plates | 4 | Triton | 4 | 16 | 0 | 0 | 8.00 | 20.0 | 20.0 | 50.0 | 0.40 |" in (
        "\n".join(lines)
    )
    assert lines[-1] == "| FastAPI | 0.165.0 | 3 | 250 |"
    write_report(report, tmp_path / "peers.json")
    assert read_report(PeersReport, tmp_path / "peers.json") == report


def test_errors_fail_a_run_and_are_named() -> None:
    broken = Cell("street", "FastAPI", 1)
    results = Results([broken], {broken: [Round(1.0, (), errors=2, first_error="500: no")]})
    report = write_up(PLAN, [], results)
    assert report.has_failed
    assert report.notes == ("street, FastAPI x1: 2 errors, the first: 500: no",)
