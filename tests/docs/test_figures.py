"""Figures, limits and messages of the pages are those of the code."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import pytest

from orchestrator.detection import nearby, search
from orchestrator.host import toml_files
from orchestrator.host.resources import MIB, least_bytes
from orchestrator.imaging.drawing import CROP_MARGIN_XY
from orchestrator.reading import improvement
from orchestrator.reading.affine_crops import SECOND_PASS_MARGINS_XY
from orchestrator.reading.crops import MARGIN_XY
from orchestrator.serving.gateway.launcher import Gateway
from orchestrator.serving.gateway.options import WORK_S
from orchestrator.serving.supervisor.triton_server import STOP_S
from orchestrator.settings import Settings
from plate_cameras import setting_parts
from plate_cameras.control_room.rest import exchange, queries
from plate_cameras.store.finding import pass_query
from plate_cameras.store.lists import (
    file_contents,
    list_editions,
    list_file,
    list_settings,
    plate_entries,
)
from plate_cameras.store.people import people
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
    (groups,) = re.findall(pattern, page(name))
    return [float(number) for number in ([groups] if isinstance(groups, str) else groups)]


def percents(*margins_xy: tuple[float, float]) -> list[float]:
    return [round(100 * margin, 6) for margin_xy in margins_xy for margin in margin_xy]


def test_the_table_of_faults_has_every_fault() -> None:
    titles = [title for title, *_ in rows("docs/reliability.md", "| fault | callers")]
    assert titles == [fault.title for fault in FAULTS]
    assert figures(r"\[(\d+) faults were tried\]", "README.md") == [len(FAULTS)]


def test_the_table_of_the_faults_of_cameras_has_every_fault() -> None:
    titles = [title for title, *_ in rows("docs/reliability.md", "| fault | vehicles |")]
    assert titles == [fault.title for fault in camera_faults.FAULTS]


@pytest.mark.parametrize("number", range(len(PROMISES)), ids=PROMISES)
def test_promises_are_those_that_are_judged(number: int) -> None:
    table = rows("docs/reliability.md", "| | callers see | longest wait | over after |")
    assert len(table) == len(PROMISES)
    promise = FAULT[PROMISES[number]].promise
    times_of_page_s = [re.findall(r"^[\d.]+", cell) for cell in table[number][2:]]
    times_of_code_s = (promise.longest_s or promise.over_usual_s, promise.recover_s)
    assert times_of_page_s == [[f"{time_s:g}"] if time_s else [] for time_s in times_of_code_s]


def test_the_times_of_a_stop_are_those_of_the_code() -> None:
    times_s = figures(
        r"for up to (\d+) s, and is killed if it still runs after (\d+) s\. "
        r"Then Triton has up to (\d+) s",
        "docs/docker.md",
    )
    assert times_s == [WORK_S, GATEWAY_S, STOP_S]
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


PAGE = (PROJECT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^### `(.+)`$", PAGE, re.M)
SAID = [
    *PROJECT.glob("orchestrator/**/*.py"),
    *PROJECT.glob("plate_cameras/**/*.py"),
    PROJECT / "scripts" / "install.py",
]


@pytest.fixture(scope="module")
def sources() -> str:
    """The text of all source files; strings over several lines are joined."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in SAID)
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize("message", QUOTED)
def test_the_code_says_so(sources: str, message: str) -> None:
    parts = [re.escape(part) for part in message.split("...") if part]
    assert re.search(r"[^\n]*?".join(parts), sources)


DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = {
    "architecture.md": "### Upper numbers of a picture",
    "control-room.md": "## Upper numbers",
    "cameras.md": "### Upper numbers of the file",
}


def rows_of(page: str) -> str:
    """Return the rows of a page's table of limits."""
    _, _, rest = (DOCS / page).read_text().partition(f"\n{SECTIONS[page]}\n")
    return rest.split("\n#")[0]


@pytest.mark.parametrize(
    ("page", "row", "most"),
    [
        ("architecture.md", "plates", Settings.max_plates),
        ("architecture.md", "crops to read", improvement.MAX_NEW_CUTS),
        ("architecture.md", "closer looks", nearby.MAX_NEARBY),
        ("architecture.md", "pictures for the detector", search.MAX_PARTS),
        ("control-room.md", "lists of a store", list_settings.MAX_LISTS),
        ("control-room.md", "entries of a list", list_editions.MAX_ENTRIES),
        ("control-room.md", "entries of all lists", list_editions.MAX_STORED_ENTRIES),
        ("control-room.md", "rows of a CSV file", list_file.MAX_FILE_ROWS),
        ("control-room.md", "rows of a CSV file", file_contents.MAX_FILE_BYTES),
        ("control-room.md", "characters of a note", plate_entries.MAX_NOTE_LENGTH),
        ("control-room.md", "characters of a name", queries.MAX_NAME_LENGTH),
        ("control-room.md", "cameras of a search", pass_query.MAX_NAMES),
        ("control-room.md", "parts of a search", pass_query.MAX_PARTS),
        ("control-room.md", "things on a page", pass_query.MAX_PAGE),
        ("control-room.md", "people;", people.MAX_PEOPLE),
        ("control-room.md", "people;", people.MAX_GROUPS),
        ("control-room.md", "bytes of a JSON body", exchange.MAX_BYTES),
        ("control-room.md", "zones, lines, masks", setting_parts.MAX_AREAS),
        ("control-room.md", "zones, lines, masks", setting_parts.MAX_POINTS),
        ("cameras.md", "bytes of the file", toml_files.MAX_FILE_BYTES),
        ("cameras.md", "cameras;", setting_parts.MAX_CAMERAS),
        ("cameras.md", "gates ", setting_parts.MAX_GATES),
        ("cameras.md", "sinks ", setting_parts.MAX_SINKS),
        ("cameras.md", "zones, lines, masks", setting_parts.MAX_AREAS),
        ("cameras.md", "points of a zone", setting_parts.MAX_POINTS),
        ("cameras.md", "items of each other", setting_parts.MAX_ITEMS),
        ("cameras.md", "characters of a text", setting_parts.MAX_CHARACTERS),
    ],
)
def test_the_documentation_has_the_number(page: str, row: str, most: int) -> None:
    (line,) = (
        table_row for table_row in rows_of(page).splitlines() if table_row.startswith(f"| {row}")
    )
    assert f"{most:,}" in line.split("|")[2]
