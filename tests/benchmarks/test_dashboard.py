"""The dashboard's picture: what is asked for is what is drawn."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.dashboard_drawing import CELL_IN, DPI, draw
from benchmarks.dashboard_panels import Panel, Query, Span, answer, line_of, panels, substituted
from orchestrator.errors import ServerError

SPAN = Span(start=1000, end=1120, step_s=30, rate_interval="16s")
STAGE = {"metric": {"stage": "yolo"}, "values": [[1030, "0.5"], [1090, "NaN"], [1120, "2"]]}


def test_variables_become_what_grafana_makes_of_all() -> None:
    expr = 'rate(a{job=~"$job", pod="p"}[$__rate_interval])'
    assert substituted(expr, "16s") == 'rate(a{job=~".*", pod="p"}[16s])'


def test_a_series_has_a_value_or_none_for_every_point_asked_for() -> None:
    line = line_of(STAGE, "{{stage}} {{pod}}", SPAN)
    assert line.name == "yolo"
    assert line.minutes.tolist() == [0, 0.5, 1, 1.5, 2]
    np.testing.assert_equal(line.values, [np.nan, 0.5, np.nan, np.nan, 2])


def test_no_prometheus_is_an_error_of_ours() -> None:
    with pytest.raises(ServerError, match=r"http://localhost:1: wanted an answer to up, got"):
        answer("http://localhost:1", Query("up", ""), SPAN)


def test_closed_rows_keep_their_panels_to_themselves() -> None:
    titles = [panel.title for panel in panels()]
    assert titles[-1] == "GPU"
    assert "GPU memory" not in titles


@pytest.fixture
def stat() -> Panel:
    return Panel("Failed", "stat", x=0, y=0, w=24, h=4, limits=((None, "green"), (1, "red")))


def colours(path: Path) -> set[tuple[int, int, int]]:
    with Image.open(path) as drawn:
        pixels = np.asarray(drawn.convert("RGB")).reshape(-1, 3)
    return set(map(tuple, np.unique(pixels, axis=0).tolist()))


def is_red(colour: tuple[int, int, int]) -> bool:
    return colour[0] > 150 and max(colour[1:]) < 80


@pytest.mark.parametrize(("last", "red"), [("0.9", False), ("1", True)])
def test_a_number_over_its_limit_is_red(stat: Panel, tmp_path: Path, last: str, red: bool) -> None:
    line = line_of({"metric": {}, "values": [[1000, "5"], [1120, last]]}, "", SPAN)
    draw([stat], {"Failed": [line]}, tmp_path / "drawn.png")
    assert any(map(is_red, colours(tmp_path / "drawn.png"))) is red


def test_the_whole_dashboard_is_drawn_without_any_answer(tmp_path: Path) -> None:
    draw(panels(), {}, tmp_path / "drawn.png")
    below = max(panel.y + panel.h for panel in panels())
    size = (round(24 * CELL_IN[0] * DPI), round(below * CELL_IN[1] * DPI))
    with Image.open(tmp_path / "drawn.png") as drawn:
        assert drawn.size == pytest.approx(size, abs=1)


@pytest.mark.parametrize("kind", ["timeseries", "heatmap"])
def test_answers_leave_their_mark(tmp_path: Path, kind: str) -> None:
    panel = Panel("One", kind, x=0, y=0, w=24, h=8, scheme="Blues")
    buckets = [{"metric": {"le": le}, "values": STAGE["values"]} for le in ("1", "+Inf")]
    draw([panel], {}, tmp_path / "empty.png")
    lines = [line_of(bucket, "{{le}}", SPAN) for bucket in buckets]
    draw([panel], {"One": lines}, tmp_path / "drawn.png")
    assert colours(tmp_path / "drawn.png") - colours(tmp_path / "empty.png")
