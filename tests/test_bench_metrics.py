import pytest

from orchestrator.bench.metrics import Counter, difference, parsed, scrape, stages, total
from orchestrator.contract import COMPONENTS, MODEL
from orchestrator.errors import ServerError

TEXT = """\
# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="yolo",version="1"} 10
nv_inference_request_success{model="yolo",version="2"} 5
nv_inference_request_success{gpu_uuid="GPU-1",model="stn",version="1"} 3
nv_inference_queue_duration_us{model="yolo",version="1"} 1.5e3
nv_cpu_utilization 0.5
"""


def counted(model: str, **values: float) -> dict[Counter, float]:
    return {Counter(model, name): value for name, value in values.items()}


def test_counters_are_read_and_versions_added_up() -> None:
    assert parsed(TEXT) == {
        Counter("yolo", "request_success"): 15.0,
        Counter("stn", "request_success"): 3.0,
        Counter("yolo", "queue_duration_us"): 1500.0,
    }


def test_nothing_is_read_of_nothing() -> None:
    assert parsed("") == {}
    assert scrape("") == {}


def test_a_difference_is_what_came_on_top() -> None:
    before, after = counted("yolo", count=3), counted("yolo", count=5) | counted("stn", count=2)
    assert difference(before, after) == counted("yolo", count=2) | counted("stn", count=2)


def test_readings_are_added_up() -> None:
    assert total([counted("yolo", count=3), counted("yolo", count=5)]) == counted("yolo", count=8)
    assert total([]) == {}


def test_without_a_picture_there_are_no_stages() -> None:
    none, some = counted(MODEL, request_success=0), counted(MODEL, request_success=1)
    assert stages({}, {}) is None
    assert stages(none, some) is None


LOAD = (
    counted(
        MODEL,
        request_success=10,
        exec_count=10,
        count=10,
        queue_duration_us=20_000,
        compute_input_duration_us=1_000,
        compute_infer_duration_us=898_000,
        compute_output_duration_us=1_000,
    )
    | counted(
        "yolo",
        request_success=10,
        exec_count=5,
        count=10,
        queue_duration_us=100_000,
        compute_infer_duration_us=500_000,
        request_duration_us=600_000,
    )
    | counted("lprnet", request_success=5, exec_count=5, count=20, request_duration_us=50_000)
)


def test_stages_are_milliseconds_a_picture() -> None:
    found = stages(LOAD, LOAD)
    assert found is not None
    models = found.models
    assert (models[MODEL].queue_ms, models[MODEL].compute_ms) == pytest.approx((2, 90))
    yolo, lprnet = models["yolo"], models["lprnet"]
    assert (yolo.queue_ms, yolo.compute_ms) == pytest.approx((10, 50))
    assert (yolo.calls, yolo.batch, yolo.rows) == (1, 2, 2)
    assert (lprnet.calls, lprnet.batch, lprnet.rows) == (0.5, 1, 4)
    assert found.own_ms == pytest.approx(90 - 60 - 5)
    assert set(models) == {MODEL, *COMPONENTS}


def test_parts_of_calls_that_have_not_ended_do_not_count_twice() -> None:
    early = counted("yolo", request_success=11, exec_count=11, request_duration_us=660_000)
    found = stages(LOAD | early, LOAD)
    assert found is not None
    assert found.models["yolo"].calls == 1
    assert found.own_ms == pytest.approx(90 - 60 - 5)


def test_a_model_that_was_not_seen_in_time_is_taken_from_the_whole_load() -> None:
    unseen = counted("yolo", request_success=0, exec_count=0, request_duration_us=0)
    found = stages(LOAD | unseen, LOAD)
    assert found is not None
    assert found.own_ms == pytest.approx(90 - 60 - 5)


def test_no_metrics_is_an_error_of_ours() -> None:
    with pytest.raises(ServerError, match=r"http://localhost:1/metrics: wanted the server's"):
        scrape("http://localhost:1/metrics")
