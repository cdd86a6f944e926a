from dataclasses import dataclass

from workshop.reporting.comparison import Row, compare, ratio
from workshop.reporting.tables import format_count


@dataclass(frozen=True)
class Speed:
    calls: int
    p50_ms: float | None = None


ROWS = (
    Row[Speed]("calls", lambda speed: speed.calls, format_count),
    Row[Speed]("p50, ms", lambda speed: speed.p50_ms),
)


def test_each_report_has_a_column() -> None:
    rows = compare(ROWS, [Speed(8, 1.5), Speed(9)])
    assert rows == [["calls", "8", "9"], ["p50, ms", "1.50", "-"]]


def test_a_figure_that_no_report_has_is_left_out() -> None:
    assert compare(ROWS, [Speed(8)]) == [["calls", "8"]]


def test_a_missing_figure_has_no_ratio() -> None:
    assert ratio(None, 2) is None
    assert ratio(1, 0) is None
    assert ratio(0, 2) == 0
