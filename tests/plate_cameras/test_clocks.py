"""The clocks of the cameras, and the rule that no other module reads the time."""

import ast
import time
from pathlib import Path

import pytest

from plate_cameras import clocks
from tests.samples import PROJECT

CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "clock_gettime"}
CLOCKS |= {"now", "utcnow", "today"}
MODULES = {"time", "datetime", "date"}


def find_clocks(code: str) -> list[int]:
    """Return the lines of a module that read the system's time."""
    lines = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asks = node.value.id in MODULES and node.attr in CLOCKS
        else:
            asks = isinstance(node, ast.ImportFrom) and node.module == "time"
        lines += [node.lineno] if asks else []
    return lines


def test_no_other_module_asks_the_system_for_the_time() -> None:
    files = {*Path(PROJECT, "plate_cameras").rglob("*.py")} - {Path(clocks.__file__)}
    lines = {file: find_clocks(file.read_text(encoding="utf-8")) for file in files}
    assert len(files) > 100
    assert {file: numbers for file, numbers in lines.items() if numbers} == {}


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("time.time()", 1),
        ("clock = time.monotonic", 1),
        ("datetime.now()", 1),
        ("from time import monotonic", 1),
        ("time.sleep(1); hours.time(1)", 0),
    ],
)
def test_the_rule_sees_every_clock(code: str, count: int) -> None:
    assert len(find_clocks(code)) == count


def test_steady_time_is_that_since_the_start_of_the_machine() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= clocks.steady_s() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_step_of_the_wall_clock_leaves_steady_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = clocks.steady_s()
    monkeypatch.setattr(clocks.time, "time", lambda: 0.0)
    assert clocks.unix_s() == 0.0
    assert clocks.local_now().timestamp() == 0.0
    assert clocks.steady_s() >= before
