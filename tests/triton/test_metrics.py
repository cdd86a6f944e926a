"""Metrics that the model reports to Triton, tested without Triton."""

import pytest

from orchestrator import errors
from orchestrator.plates import Plate, Plates
from orchestrator.triton.metrics import FAMILIES, REASONS, Metrics
from orchestrator.triton.stages import STAGES, Stopwatch
from tests.triton import fake_triton
from tests.triton.fake_triton import MetricFamily, forget, observed, total


@pytest.fixture
def metrics() -> Metrics:
    forget()
    return Metrics(MetricFamily)


def stopped_after(*models: str) -> Stopwatch:
    watch = Stopwatch(lambda model, tensors: tensors)
    for model in models:
        watch(model, {})
    watch.finish()
    return watch


READ = Plate((10, 5, 90, 25), 0.9, text="A123BC77", text_score=0.97)
UNREAD = Plate((0, 0, 40, 12), 0.5, text="", text_score=0.2)


def test_everything_is_there_from_the_start_at_zero(metrics) -> None:
    assert set(fake_triton.FAMILIES) == {family.name for family in FAMILIES}
    assert set(fake_triton.FAMILIES["plates_errors_total"].metrics) == set(REASONS)
    assert set(fake_triton.FAMILIES["plates_stage_seconds"].metrics) == set(STAGES)
    assert total("errors_total", "picture") == total("pictures_total") == 0


def test_an_empty_picture_is_an_early_exit(metrics) -> None:
    metrics.note_answer(Plates(()), stopped_after("yolo"))
    assert (total("pictures_total"), total("early_exits_total"), total("found_total")) == (1, 1, 0)
    assert len(observed("stage_seconds", "yolo")) == 1
    assert observed("stage_seconds", "lprnet") == observed("text_score") == []


def test_plates_are_counted_with_score_and_width(metrics) -> None:
    metrics.note_answer(Plates((READ, UNREAD)), stopped_after("yolo", "stn", "lprnet"))
    assert (total("found_total"), total("read_total"), total("early_exits_total")) == (2, 1, 0)
    assert observed("text_score") == [0.97, 0.2]
    assert observed("width_px") == [80, 40]
    assert len(observed("request_seconds")) == 1


def test_plates_that_nobody_asked_to_read_have_no_score(metrics) -> None:
    metrics.note_answer(Plates((UNREAD,)), stopped_after("yolo"))
    assert (total("found_total"), total("early_exits_total")) == (1, 0)
    assert observed("text_score") == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errors.PictureError("x"), "picture"),
        (errors.ParameterError("x"), "parameter"),
        (errors.ModelError("x"), "model"),
        (errors.Overloaded("x"), "overloaded"),
        (errors.Cancelled("x"), "cancelled"),
        (errors.PlateError("x"), "internal"),
    ],
)
def test_a_failure_is_counted_by_its_reason(metrics, error, reason: str) -> None:
    metrics.note_failure(error, stopped_after("yolo"))
    assert total("errors_total", reason) == total("pictures_total") == 1
    assert sum(total("errors_total", other) for other in REASONS) == 1
    assert observed("stage_seconds", "yolo") == []
