"""The clocks of the cameras, and the rule that no other module reads the time."""

import ast
import time
from pathlib import Path

import pytest

from plate_cameras import clocks
from tests.samples import PROJECT

CLOCKS = {
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "clock_gettime",
    "now",
    "utcnow",
    "today",
}
MODULES = {"time", "datetime", "date"}
FOLDERS = ("plate_cameras",)
FILES = sorted(
    file
    for folder in FOLDERS
    for file in Path(PROJECT, folder).rglob("*.py")
    if file != Path(clocks.__file__)
)


def find_clocks(code: str) -> list[str]:
    """Return the places of a module that read the system's time."""
    tree = ast.parse(code)
    asked = [
        f"{node.value.id}.{node.attr}, line {node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in MODULES
        and node.attr in CLOCKS
    ]
    imported = [
        f"from time import {name.name}, line {node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for name in node.names
    ]
    return asked + imported


@pytest.mark.parametrize("file", [pytest.param(one, id=one.name) for one in FILES])
def test_no_other_module_asks_the_system_for_the_time(file: Path) -> None:
    imports_clocks_as_time = "import arrival as time" in file.read_text(encoding="utf-8")
    assert imports_clocks_as_time or not find_clocks(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        pytest.param("time.time()", 1, id="wall"),
        pytest.param("clock = time.monotonic", 1, id="a default"),
        pytest.param("datetime.now()", 1, id="date"),
        pytest.param("from time import monotonic", 1, id="import"),
        pytest.param("time.sleep(1); hours.time(1)", 0, id="others"),
    ],
)
def test_the_rule_sees_every_clock(code: str, found: int) -> None:
    assert len(find_clocks(code)) == found


def test_steady_time_is_that_since_the_start_of_the_machine() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= clocks.steady_s() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_step_of_the_wall_clock_leaves_steady_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = clocks.steady_s()
    monkeypatch.setattr(clocks.time, "time", lambda: 0.0)
    assert clocks.unix_s() == 0.0
    assert clocks.local_now().timestamp() == 0.0
    assert clocks.steady_s() >= before
