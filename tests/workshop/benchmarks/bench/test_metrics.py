import pytest

from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
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
    wanted = nothing | {"picture": pytest.approx(5), "lprnet": pytest.approx(2)}
    assert look_inside(LOAD).stages_ms == wanted


def test_a_stopwatch_counts_as_the_server_does() -> None:
    watch = Stopwatch(lambda model, tensors: tensors)
    watch.lap(UNPACKING)
    inside = look_inside(add_up([read_stopwatch(watch)] * 2))
    assert inside.stages_ms[UNPACKING] == pytest.approx(1e3 * watch.seconds[UNPACKING])
    assert (inside.whole, inside.networks) == (None, {})


def test_no_metrics_is_an_error_of_ours() -> None:
    with pytest.raises(ServerError, match=r"http://localhost:1/metrics: wanted an answer"):
        scrape("http://localhost:1/metrics")
