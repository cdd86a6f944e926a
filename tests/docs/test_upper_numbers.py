"""The limits in the documentation are those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.detection import nearby, search
from orchestrator.host import toml_files
from orchestrator.reading import improvement
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
    (line,) = (one for one in rows_of(page).splitlines() if one.startswith(f"| {row}"))
    assert f"{most:,}" in line.split("|")[2]
