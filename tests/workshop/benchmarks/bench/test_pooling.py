"""Figures of a load's rounds, worked out by hand."""

import pytest

from orchestrator.contract import MODEL
from workshop.benchmarks.bench.plan import Key
from workshop.benchmarks.bench.pooling import divide_throughput, pool, sum_up
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.processes import Peaks

KEY = Key("1 plate", "http-encoded", 4)


def test_latencies_are_pooled_and_throughput_is_the_median_round() -> None:
    load = pool([Round(1.0, (10.0,)), Round(1.0, (20.0, 90.0)), Round(2.0, (40.0,) * 10)])
    assert load.calls == 13
    assert [one.throughput for one in load.by_round] == [1.0, 2.0, 5.0]
    assert [one.p50_ms for one in load.by_round] == [10.0, 55.0, 40.0]
    assert load.throughput == 2.0
    assert (load.p50_ms, load.p99_ms) == (40.0, pytest.approx(84))


def test_a_load_without_answers_has_its_failures_alone() -> None:
    cpu_s = Cpu(server=0.1)
    failed = Round(1.0, (), refused=2, errors=3, first_error="a", cpu_s=cpu_s)
    load = pool([Round(1.0, (), refused=1), failed, Round(1.0, (), errors=1, first_error="b")])
    assert (load.refused, load.errors, load.lost, load.first_error) == (3, 4, 7, "a")
    assert (load.p50_ms, load.p99_ms, load.cpu_ms, load.throughput) == (None, None, Cpu(), 0)


def test_cpu_is_divided_by_all_calls() -> None:
    load = pool([Round(1.0, (1.0,) * n, cpu_s=Cpu(server=0.3, client=n / 100)) for n in (1, 2)])
    assert load.cpu_ms.server == pytest.approx(200)
    assert load.cpu_ms.client == pytest.approx(10)
    assert [one.cpu_ms for one in load.by_round] == pytest.approx([300, 150])


def test_loads_are_divided_round_by_round_as_far_as_both_go() -> None:
    def rate(*calls: int):
        return pool([Round(1.0, (1.0,) * n) for n in calls])

    assert divide_throughput(rate(6, 9, 8), rate(4, 3, 4)) == 2.0
    assert divide_throughput(rate(8, 5), rate(10)) == 0.8
    assert divide_throughput(rate(8), rate(0)) is None


def test_a_cell_has_the_highest_peaks_the_plates_of_an_answer_and_all_counters() -> None:
    counters = {f"{MODEL} request_success": 2.0, f"{MODEL} compute_infer_duration_us": 3000.0}
    rounds = [
        Round(1.0, (), peaks=Peaks(5, 3), counters=counters),
        Round(1.0, (), peaks=Peaks(10, 2), counters=counters, plates=1),
    ]
    cell = sum_up(KEY, rounds)
    assert (cell.key, cell.peaks, cell.plates) == (KEY, Peaks(10, 3), 1)
    assert cell.inside.whole.compute_ms == 1.5
    empty = sum_up(KEY, [Round(1.0, ())])
    assert (empty.peaks, empty.inside) == (Peaks(), None)
