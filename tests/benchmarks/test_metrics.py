import pytest

from benchmarks.metrics import difference, parsed, scrape, stages, total
from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
from orchestrator.networks.registry import NETWORKS

TEXT = """\
# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="yolo",version="1"} 10
nv_inference_request_success{model="yolo",version="2"} 5
nv_inference_request_success{gpu_uuid="GPU-1",model="stn",version="1"} 3
nv_inference_queue_duration_us{model="yolo",version="1"} 1.5e3
nv_cpu_utilization 0.5
"""


def counted(model: str, **values: float) -> dict[tuple[str, str], float]:
    return {(model, name): value for name, value in values.items()}


def test_counters_are_read_and_versions_added_up() -> None:
    assert parsed(TEXT) == {
        ("yolo", "request_success"): 15.0,
        ("stn", "request_success"): 3.0,
        ("yolo", "queue_duration_us"): 1500.0,
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
    assert stages({}) is None
    assert stages(counted(MODEL, request_success=0)) is None


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
    found = stages(LOAD)
    assert found is not None
    assert set(found["models"]) == {MODEL, *NETWORKS}
    assert found["models"]["yolo"] == pytest.approx(
        {"calls": 1, "queue_ms": 10, "compute_ms": 50, "batch": 2, "rows": 2}
    )
    lprnet = found["models"]["lprnet"]
    assert (lprnet["calls"], lprnet["batch"], lprnet["rows"]) == (0.5, 1, 4)
    assert found["models"][MODEL]["queue_ms"] == pytest.approx(2)
    assert found["own_ms"] == pytest.approx(90 - 60 - 5)


def test_a_model_that_was_not_called_took_no_time() -> None:
    found = stages(LOAD)
    assert found is not None
    assert set(found["models"]["stn"].values()) == {0}


def test_no_metrics_is_an_error_of_ours() -> None:
    with pytest.raises(ServerError, match=r"http://localhost:1/metrics: wanted the server's"):
        scrape("http://localhost:1/metrics")
