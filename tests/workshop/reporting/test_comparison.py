from dataclasses import dataclass

from workshop.reporting.comparison import Row, compare, divide, ratio
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


def test_parts_that_both_reports_have_are_divided() -> None:
    new = {"http": Speed(8, 1.5), "grpc": Speed(4, 1.0)}
    old = {"http": Speed(4, 3.0), "shm": Speed(1)}
    assert divide(ROWS, new, old) == {"http": [2.0, 0.5]}


def test_a_missing_figure_has_no_ratio() -> None:
    assert divide(ROWS, {"": Speed(8, 1.0)}, {"": Speed(4)}) == {"": [2.0, None]}
    assert ratio(None, 2) is None
    assert ratio(1, 0) is None
    assert ratio(0, 2) == 0
