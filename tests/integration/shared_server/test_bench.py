"""A few seconds of load on a real server, over every transport."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.networks.registry import NETWORKS
from workshop.benchmarks.bench.plan import TRANSPORTS
from workshop.benchmarks.bench.report import BenchReport
from workshop.reporting.files import read_report

SHM = Path("/dev/shm")
SMALL = ("--plates", "1", "--concurrency", "2", "--seconds", "0.3", "--rounds", "1")


def regions() -> set[Path]:
    """Shared memory of this process's servers."""
    return {*SHM.glob(f"plates_{os.getpid()}_*")}


def bench(out: Path, *arguments: str):
    return CliRunner().invoke(app, ["bench", *SMALL, "--out", str(out), *arguments])


def report_of(out: Path) -> BenchReport:
    return read_report(BenchReport, out / "report.json")


@pytest.fixture(scope="module")
def bench_run(tmp_path_factory: pytest.TempPathFactory, server) -> tuple:
    """The report of a run against the running server, with the server's metrics."""
    out = tmp_path_factory.mktemp("bench")
    options = server.options
    urls = ("--url", options.http_url, "--grpc-url", options.grpc_url)
    urls += ("--metrics-url", options.metrics_url)
    return bench(out, *urls), out


def test_every_transport_finds_the_plate(bench_run) -> None:
    result, out = bench_run
    assert result.exit_code == 0, result.output
    cells = report_of(out).cells
    assert [cell.key.transport for cell in cells] == list(TRANSPORTS)
    assert [(cell.plates, cell.load.errors) for cell in cells] == [(1, 0)] * len(TRANSPORTS)
    assert all(cell.load.calls >= 2 and cell.load.throughput > 0 for cell in cells)
    assert all(cell.load.p50_ms <= cell.load.p99_ms for cell in cells)


def test_the_servers_own_times_are_read(bench_run) -> None:
    _, out = bench_run
    for inside in [cell.inside for cell in report_of(out).cells[:-1]]:
        assert inside.whole.calls == 1
        assert [inside.networks[name].batch >= 1 for name in NETWORKS] == [True] * 3
        assert 0 < sum(inside.stages_ms.values()) < 1.1 * inside.whole.compute_ms


def test_a_server_of_its_own_is_measured_and_stopped(tmp_path: Path) -> None:
    before = regions()
    transports = ("--transport", "http-encoded", "--transport", "grpc")
    result = bench(tmp_path, "--pictures", "1", *transports)
    assert result.exit_code == 0, result.output
    for cell in report_of(tmp_path).cells:
        assert min(cell.load.cpu_ms.server, cell.load.cpu_ms.client) > 0
        assert cell.peaks.memory_bytes > 100_000_000
        assert cell.peaks.shm_bytes > 0
    assert regions() == before
