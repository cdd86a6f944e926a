"""A run beside a stored one, worked out by hand."""

from dataclasses import replace

import pytest

from orchestrator.serving.supervisor.capacity import Capacity
from workshop.benchmarks.bench.against import set_against
from workshop.benchmarks.bench.plan import Conditions, Key
from workshop.benchmarks.bench.pooling import CellFigures, sum_up
from workshop.benchmarks.bench.report import BenchReport, Change, PictureFacts
from workshop.benchmarks.bench.server import ServerFacts
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.reporting.machine import Machine

MACHINE = Machine("A", 4, 10**9, None, "Linux", "3.12", "2.51.0", {"torch": "2"})
STREET = PictureFacts("street", 40, 30, 100, 3600, "1", None)


def cell(transport: str, concurrency: int, calls: int, *, ms: float = 100.0) -> CellFigures:
    """A cell with so many calls in a second; each takes 20 ms of CPU."""
    key = Key("street", transport, concurrency)
    return sum_up(key, [Round(1.0, (ms,) * calls, cpu_s=Cpu(server=0.02 * calls))])


def report(*cells: CellFigures) -> BenchReport:
    return BenchReport(
        date="yesterday",
        machine=MACHINE,
        conditions=Conditions(),
        server=ServerFacts("2.51.0", {}, "cpu", "openvino", Capacity(2, 2, 3)),
        rounds_done=1,
        ended_early="",
        pictures=(STREET,),
        ratios=(),
        cells=cells,
        notes=(),
    )


def test_only_cells_of_both_are_compared() -> None:
    new = report(cell("grpc", 1, 20, ms=50.0), cell("grpc", 2, 1))
    old = report(cell("grpc", 1, 10), cell("grpc", 4, 1))
    (found,) = set_against(new, old).cells
    assert found.key == Key("street", "grpc", 1)
    assert (found.change.throughput, found.change.p50_ms) == (2, 0.5)
    assert found.change.cpu_ms == pytest.approx(1)


def test_medians_are_by_way() -> None:
    new = report(*(cell("grpc", count, count) for count in (1, 2, 6)))
    old = report(*(cell("grpc", count, 1, ms=200.0) for count in (1, 2, 6)))
    assert set_against(new, old).medians == {"grpc": Change(2, 0.5, pytest.approx(1))}


def test_each_difference_of_two_runs_is_described() -> None:
    old = report()
    new = replace(
        old,
        machine=replace(MACHINE, cores=2, packages={"torch": "2", "openvino": "2026"}),
        conditions=Conditions(rounds=5, concurrencies=(1,)),
        server=replace(old.server, capacity=Capacity(2, 2, 4)),
        pictures=(replace(STREET, sha256="9"), replace(STREET, name="new")),
    )
    assert set_against(new, old).differences == (
        "machine cores: 4 then, 2 now",
        "machine packages openvino: none then, 2026 now",
        "conditions rounds: 3 then, 5 now",
        "server capacity pictures: 3 then, 4 now",
        "picture street: another picture than then",
    )
    assert set_against(old, old).differences == ()
