"""Figures of rounds, ratios, and parts of the time of a picture, worked out by hand."""

import pytest

from orchestrator.contract import MODEL
from orchestrator.networks.registry import NETWORKS
from orchestrator.triton.stages import STAGES, UNPACKING, Stopwatch
from workshop.benchmarks.bench.metrics import (
    ModelTimes,
    add_up,
    look_inside,
    parse,
    read_stopwatch,
    scrape,
    subtract,
)
from workshop.benchmarks.bench.plan import Key
from workshop.benchmarks.bench.pooling import (
    SCALING,
    SERVED,
    SPREAD,
    TAX,
    CellFigures,
    divide_throughput,
    find_ratios,
    pool,
    sum_up,
)
from workshop.benchmarks.load.rounds import Cpu, Round
from workshop.benchmarks.processes import Peaks

TEXT = """\
# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="yolo",version="1"} 10
nv_inference_request_success{model="yolo",version="2"} 5
nv_inference_request_success{gpu_uuid="GPU-1",model="stn",version="1"} 3
nv_inference_queue_duration_us{model="yolo",version="1"} 1.5e3
nv_cpu_utilization 0.5
plates_stage_seconds_count{stage="yolo"} 4
plates_stage_seconds_sum{stage="yolo"} 0.25
plates_stage_seconds_bucket{stage="yolo",le="0.001"} 0
"""


def count(subject: str, **values: float) -> dict[str, float]:
    return {f"{subject} {name}": value for name, value in values.items()}


def test_counters_are_read_and_versions_added_up() -> None:
    assert parse(TEXT) == {
        "yolo request_success": 15.0,
        "stn request_success": 3.0,
        "yolo queue_duration_us": 1500.0,
        "yolo stage_count": 4.0,
        "yolo stage_sum": 0.25,
    }


def test_readings_are_added_up_and_subtracted() -> None:
    before, after = count("yolo", count=3), count("yolo", count=5) | count("stn", count=2)
    assert subtract(after, before) == count("yolo", count=2) | count("stn", count=2)
    assert add_up([before, after]) == count("yolo", count=8) | count("stn", count=2)
    assert add_up([]) == parse("") == scrape("") == {}


LOAD = (
    count(
        MODEL, request_success=10, exec_count=10, count=10, queue_duration_us=20_000,
        compute_input_duration_us=1_000, compute_infer_duration_us=898_000,
        compute_output_duration_us=1_000,
    )
    | count(
        "yolo", request_success=10, exec_count=5, count=10, queue_duration_us=100_000,
        compute_infer_duration_us=500_000,
    )
    | count("lprnet", request_success=5, exec_count=5, count=20)
    | {"picture stage_count": 10, "picture stage_sum": 0.05, "lprnet stage_sum": 0.02}
)  # fmt: skip


def test_times_are_milliseconds_a_picture() -> None:
    assert look_inside(count(MODEL, request_success=0)) is None
    inside = look_inside(LOAD)
    assert inside.whole == ModelTimes(calls=1, queue_ms=2, compute_ms=90, batch=1, rows=1)
    assert set(inside.networks) == set(NETWORKS)
    assert inside.networks["yolo"] == ModelTimes(1, queue_ms=10, compute_ms=50, batch=2, rows=2)
    assert inside.networks["stn"] == ModelTimes(0, 0, 0, 0, 0)  # it was not called
    lprnet = inside.networks["lprnet"]
    assert (lprnet.calls, lprnet.batch, lprnet.rows) == (0.5, 1, 4)


def test_stages_are_divided_by_the_pictures_that_had_any() -> None:
    nothing = dict.fromkeys(STAGES, 0.0)
    expected_ms = nothing | {"picture": pytest.approx(5), "lprnet": pytest.approx(2)}
    assert look_inside(LOAD).stages_ms == expected_ms


def test_a_stopwatch_counts_as_the_server_does() -> None:
    watch = Stopwatch(lambda model, tensors: tensors)
    watch.lap(UNPACKING)
    inside = look_inside(add_up([read_stopwatch(watch)] * 2))
    assert inside.stages_ms[UNPACKING] == pytest.approx(1e3 * watch.seconds[UNPACKING])
    assert (inside.whole, inside.networks) == (None, {})


KEY = Key("1 plate", "http-encoded", 4)


def test_latencies_are_pooled_and_throughput_is_the_median_round() -> None:
    load = pool([Round(1.0, (10.0,)), Round(1.0, (20.0, 90.0)), Round(2.0, (40.0,) * 10)])
    assert load.calls == 13
    assert [round_figures.throughput for round_figures in load.by_round] == [1.0, 2.0, 5.0]
    assert [round_figures.p50_ms for round_figures in load.by_round] == [10.0, 55.0, 40.0]
    assert load.throughput == 2.0
    assert (load.p50_ms, load.p99_ms) == (40.0, pytest.approx(84))


def test_a_load_without_answers_has_its_failures_alone() -> None:
    cpu_s = Cpu(server=0.1)
    failed_round = Round(1.0, (), refused=2, errors=3, first_error="a", cpu_s=cpu_s)
    load = pool(
        [Round(1.0, (), refused=1), failed_round, Round(1.0, (), errors=1, first_error="b")]
    )
    assert (load.refused, load.errors, load.first_error) == (3, 4, "a")
    assert (load.p50_ms, load.p99_ms, load.cpu_ms, load.throughput) == (None, None, Cpu(), 0)


def test_cpu_is_divided_by_all_calls() -> None:
    load = pool(
        [Round(1.0, (1.0,) * calls, cpu_s=Cpu(server=0.3, client=calls / 100)) for calls in (1, 2)]
    )
    assert load.cpu_ms.server == pytest.approx(200)
    assert load.cpu_ms.client == pytest.approx(10)
    assert [round_figures.cpu_ms for round_figures in load.by_round] == pytest.approx([300, 150])


def test_loads_are_divided_round_by_round_as_far_as_both_go() -> None:
    def rate(*counts: int):
        return pool([Round(1.0, (1.0,) * count) for count in counts])

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


def cell(
    transport: str, concurrency: int, *counts: int, plates: int = 0, **seconds: float
) -> CellFigures:
    """Return a cell with given numbers of calls in its rounds of 1 s; a call takes 20 ms of CPU.

    Each call lasts 100 ms. The `seconds` are the time of each stage for both of its pictures.
    """
    counters = {f"{stage} stage_sum": both for stage, both in seconds.items()}
    counters |= {"picture stage_count": 2.0} if seconds else {}
    return sum_up(
        Key("street", transport, concurrency),
        [
            Round(1.0, (100.0,) * count, plates=plates, cpu_s=Cpu(0.02 * count), counters=counters)
            for count in counts
        ],
    )


def find_ratio_values(*cells: CellFigures) -> dict:
    return {(ratio.title, ratio.concurrency): ratio.value for ratio in find_ratios(cells)}


def test_cells_that_are_missing_or_without_an_answer_have_no_ratios() -> None:
    assert find_ratio_values() == {}
    assert find_ratio_values(cell("grpc", 4, 10), cell("in-process", 4, 10)) == {}
    assert find_ratio_values(cell("http-encoded", 4, 0), cell("in-process", 4, 0)) == {}


def test_served_is_divided_by_the_bound_round_by_round() -> None:
    cells = [cell("http-encoded", 1, 8, 5, 9), cell("in-process", 1, 10, 10, 10)]
    assert find_ratio_values(*cells) == {(SERVED, 1): 0.8}


def test_spread_and_scaling_are_against_four_at_once() -> None:
    cells = [cell("http-encoded", 4, 10), cell("http-encoded", 16, 12)]
    assert find_ratio_values(*cells) == {(SPREAD, 4): 1.0, (SCALING, 16): 1.2}


def test_one_call_without_plates_is_set_against_its_parts() -> None:
    bare = cell("in-process", 1, 10, picture=0.01, yolo=0.12)
    assert find_ratio_values(cell("http-encoded", 1, 10), bare) == {
        (SERVED, 1): 1.0,
        (TAX, 1): 35.0,
    }
    assert find_ratio_values(cell("http-encoded", 1, 10, plates=2), bare) == {(SERVED, 1): 1.0}
