"""Ratios within a run, worked out by hand."""

from workshop.benchmarks.bench.plan import Key
from workshop.benchmarks.bench.pooling import (
    SCALING,
    SERVED,
    SPREAD,
    TAX,
    CellFigures,
    find_ratios,
    sum_up,
)
from workshop.benchmarks.load.rounds import Cpu, Round


def cell(
    transport: str,
    concurrency: int,
    *calls: int,
    plates: int = 0,
    **seconds: float,
) -> CellFigures:
    """Return a cell with given numbers of calls in its rounds of 1 s; a call takes 20 ms of CPU.

    Each call lasts 100 ms. The `seconds` are the time of each stage for both of its pictures.
    """
    counters = {f"{stage} stage_sum": both for stage, both in seconds.items()}
    counters |= {"picture stage_count": 2.0} if seconds else {}
    return sum_up(
        Key("street", transport, concurrency),
        [
            Round(1.0, (100.0,) * n, plates=plates, cpu_s=Cpu(0.02 * n), counters=counters)
            for n in calls
        ],
    )


def found(*cells: CellFigures) -> dict:
    return {(ratio.title, ratio.concurrency): ratio.value for ratio in find_ratios(cells)}


def test_cells_that_are_missing_or_without_an_answer_have_no_ratios() -> None:
    assert found() == {}
    assert found(cell("grpc", 4, 10), cell("in-process", 4, 10)) == {}
    assert found(cell("http-encoded", 4, 0), cell("in-process", 4, 0)) == {}


def test_served_is_divided_by_the_bound_round_by_round() -> None:
    cells = [cell("http-encoded", 1, 8, 5, 9), cell("in-process", 1, 10, 10, 10)]
    assert found(*cells) == {(SERVED, 1): 0.8}


def test_spread_and_scaling_are_against_four_at_once() -> None:
    cells = [cell("http-encoded", 4, 10), cell("http-encoded", 16, 12)]
    assert found(*cells) == {(SPREAD, 4): 1.0, (SCALING, 16): 1.2}


def test_one_call_without_plates_is_set_against_its_parts() -> None:
    bare = cell("in-process", 1, 10, picture=0.01, yolo=0.12)
    assert found(cell("http-encoded", 1, 10), bare) == {(SERVED, 1): 1.0, (TAX, 1): 35.0}
    assert found(cell("http-encoded", 1, 10, plates=2), bare) == {(SERVED, 1): 1.0}
