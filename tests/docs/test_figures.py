"""The pages' figures agree with the code, with the tables and with each other."""

import inspect
import math
import re

import pytest

from orchestrator.host.resources import MIB, least_bytes
from orchestrator.imaging.drawing import CROP_MARGIN_XY
from orchestrator.reading.affine_crops import SECOND_PASS_MARGINS_XY
from orchestrator.reading.crops import MARGIN_XY
from orchestrator.serving.gateway.launcher import Gateway
from orchestrator.serving.gateway.options import WORK_S
from orchestrator.serving.supervisor.triton_server import STOP_S
from tests.samples import PROJECT
from workshop.benchmarks.camera_faults import registry as camera_faults
from workshop.benchmarks.faults.registry import FAULTS

FAULT = {fault.name: fault for fault in FAULTS}
GATEWAY_S = inspect.signature(Gateway.stop).parameters["timeout_s"].default
PROMISES = (
    "kill-yolo", "loop", "kill-triton", "planned-restart", "kill-gateway", "memory", "kill-serve",
    "stop-serve",
)  # fmt: skip
"""Names of the faults, one for each row of the table of promises."""


def page(name: str) -> str:
    return " ".join((PROJECT / name).read_text(encoding="utf-8").split())


def rows(name: str, header: str) -> list[list[str]]:
    """Return the rows of the table whose header begins with a text."""
    text = (PROJECT / name).read_text(encoding="utf-8")
    _, _, below = text.partition(f"\n{header}")
    table = below.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table]


def figures(pattern: str, name: str) -> list[float]:
    """Return the groups of a pattern's only match."""
    (found,) = re.findall(pattern, page(name))
    return [float(one) for one in ([found] if isinstance(found, str) else found)]


def percents(*margins_xy: tuple[float, float]) -> list[float]:
    return [round(100 * margin, 6) for margin_xy in margins_xy for margin in margin_xy]


def test_the_table_of_faults_has_every_fault() -> None:
    made = [title for title, *_ in rows("docs/reliability.md", "| fault |")]
    assert made == [fault.title for fault in FAULTS]
    assert figures(r"\[(\d+) faults were tried\]", "README.md") == [len(FAULTS)]


def test_the_table_of_the_faults_of_cameras_has_every_fault() -> None:
    made = [title for title, *_ in rows("docs/reliability.md", "| what was broken |")]
    assert made == [fault.title for fault in camera_faults.FAULTS]


@pytest.mark.parametrize("number", range(len(PROMISES)), ids=PROMISES)
def test_promises_are_those_that_are_judged(number: int) -> None:
    table = rows("docs/reliability.md", "| | callers see | longest wait | over after |")
    assert len(table) == len(PROMISES)
    promise = FAULT[PROMISES[number]].promise
    told_s = [re.findall(r"^[\d.]+", cell) for cell in table[number][2:]]
    wanted_s = (promise.longest_s or promise.over_usual_s, promise.recover_s)
    assert told_s == [[f"{one:g}"] if one else [] for one in wanted_s]


def test_the_times_of_a_stop_are_those_of_the_code() -> None:
    told = figures(
        r"for up to (\d+) s, and is killed if it still runs after (\d+) s\. "
        r"Then Triton has up to (\d+) s",
        "docs/docker.md",
    )
    assert told == [WORK_S, GATEWAY_S, STOP_S]
    steps = dict(row[:2] for row in rows("docs/why/kubernetes.md", "| s | |"))
    begin_s = 10
    assert f"for {WORK_S:.0f} s at most" in steps[str(begin_s)]
    assert "gateway still runs" in steps[f"{begin_s + GATEWAY_S:.0f}"]
    assert "Triton still runs" in steps[f"{begin_s + GATEWAY_S + STOP_S:.0f}"]


def test_margins_of_crops_are_those_of_the_code() -> None:
    name, of_each = "docs/why/reading.md", r"(\d+) % of its width and (\d+) % of its height"
    assert figures(of_each, name) == percents(MARGIN_XY)
    twice = r"margins of (\d+) and (\d+) % of its width and height, once of (\d+) and (\d+) %"
    assert figures(twice, name) == percents(*SECOND_PASS_MARGINS_XY[1])
    of_halves = r"with (\d+) and (\d+) %, and with (\d+) and (\d+) %"
    assert figures(of_halves, name) == percents(*SECOND_PASS_MARGINS_XY[2])
    leaves = r"leaves (\d+) % of the width and (\d+) % of the height"
    assert figures(leaves, "docs/tensors.md") == percents(CROP_MARGIN_XY)


def test_the_least_memory_is_that_of_the_check_at_the_start() -> None:
    least, of_each = figures(r"at least (\d+) MiB and (\d+) MiB for each worker", "docs/docker.md")
    (two_cores,) = figures(r"says so: (\d+) MiB with two cores", "docs/docker.md")
    assert two_cores == math.ceil(least_bytes(10) / MIB)
    assert least + 28 * of_each == math.ceil(least_bytes(28) / MIB)
    of_a_pod = figures(r"at least (\d+) MiB and (\d+) MiB . w", "docs/kubernetes.md")
    assert of_a_pod == [least, of_each]


def test_pictures_a_second_are_those_of_the_curve() -> None:
    (by_size,) = re.findall(
        r"with four plates: ([\d, and]+) pictures a second", page("docs/performance.md")
    )
    (by_plates,) = re.findall(
        r"megapixels: ([\d, and]+) pictures a second", page("docs/performance.md")
    )
    with_four, without = int(re.findall(r"\d+", by_size)[1]), int(re.findall(r"\d+", by_plates)[0])
    assert figures(r"About (\d+) pictures with four", "README.md") == [with_four]
    assert figures(r"Около (\d+) фотографи", "README.ru.md") == [with_four]
    assert figures(r"\[(\d+) and (\d+) since\]", "docs/why/capacity.md") == [with_four, without]
