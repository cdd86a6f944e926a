"""The search page and the page of a pass."""

import csv
import json
from typing import Any

from tests.browser.conftest import Open
from tests.browser.control_room.rooms import RunningRoom, make_pass
from tests.browser.looking import download

DAY = "from=2025-06-15T00:00:00Z&until=2025-06-16T00:00:00Z"


def shown_ids(page: Any, count: int) -> list[str]:
    """Wait for a number of rows, and return the ids of their passes."""
    page.locator(f"#rows:not(.old):has(> :nth-child({count}):last-child)").wait_for()
    return page.evaluate("[...document.querySelectorAll('.pass-row')].map((row) => row.dataset.id)")


def test_a_search_stands_in_the_address(open_quiet: Open) -> None:
    page = open_quiet("passes")
    page.fill("#text", "A12?BC77")
    page.get_by_role("button", name="Search", exact=True).click()
    assert shown_ids(page, 2) == ["pass-2", "pass-0"]
    assert page.url.endswith("/passes?text=A12%3FBC77")
    page.fill("#text", "H999")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_text("No pass fits.").wait_for()
    page.go_back()
    page.reload()
    assert shown_ids(page, 2) == ["pass-2", "pass-0"]
    page.go_back()
    shown_ids(page, 4)
    assert page.input_value("#text") == ""


def test_a_day_in_the_address_is_that_day(open_quiet: Open) -> None:
    page = open_quiet("passes?from=2025-06-15&until=2025-06-15", timezone_id="Europe/Moscow")
    assert len(shown_ids(page, 4)) == 4
    assert page.input_value("#until") == "2025-06-16T00:00"
    page.get_by_role("button", name="19:00 to 20:00: 4").wait_for()


def test_the_heat_map_and_the_bars_narrow_a_search(open_quiet: Open) -> None:
    page = open_quiet(f"passes?{DAY}", timezone_id="UTC")
    shown_ids(page, 4)
    page.get_by_role("button", name="16:00 to 17:00: 4").click()
    page.wait_for_url("**from=2025-06-15T16%3A00%3A00.000Z&until=2025-06-15T17%3A00%3A00.000Z")
    page.locator("#by-camera button", has_text="yard").click()
    assert shown_ids(page, 2) == ["pass-3", "pass-1"]
    assert page.input_value("#camera") == "yard"


def test_the_keyboard_moves_in_the_heat_map(open_quiet: Open) -> None:
    page = open_quiet(f"passes?{DAY.replace('-15', '-14')}", timezone_id="UTC")
    page.locator(".heat td button").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    label = page.evaluate("document.activeElement.ariaLabel")
    assert "14" in label
    assert "2:00 to 3:00: 0" in label


def test_what_was_found_is_saved(open_quiet: Open) -> None:
    page = open_quiet("passes?camera=gate")
    shown_ids(page, 2)
    csv_file, json_file = (download(page, kind).path() for kind in ("CSV", "JSON"))
    rows = csv.DictReader(csv_file.read_text(encoding="utf-8-sig").splitlines())
    assert [row["text"] for row in rows] == ["A128BC77", "A123BC77"]
    passes = json.loads(json_file.read_text())["passes"]
    assert [fields["id"] for fields in passes] == ["pass-2", "pass-0"]


def test_a_pass_tells_why_it_has_its_text(open_quiet: Open) -> None:
    page = open_quiet("passes?text=A123BC77")
    page.locator(".pass-row a").first.click()
    page.get_by_text("The only reading says so.").wait_for()
    width = "(picture) => picture.decode().then(() => picture.naturalWidth)"
    assert page.locator(".frame img").evaluate(width) == 640
    assert page.locator("#hits").inner_text() == "residents flat 12"
    assert page.locator("#readings tr").count() == 1


def test_all_data_of_a_plate_are_deleted_with_a_reason(open_quiet: Open, room: RunningRoom) -> None:
    room.store.write([make_pass("gone", text="E001EE77", candidates=(("E001EE77", 0.97),))], [])
    page = open_quiet("passes/gone")
    page.get_by_role("button", name="Delete this plate's data").click()
    page.get_by_role("button", name="Delete all").click()
    assert page.locator(".ask").is_visible()  # until there is a reason
    page.fill("#ask-why", "request of the owner")
    page.get_by_role("button", name="Delete all").click()
    page.get_by_text("Deleted passes: 1.").first.wait_for()
    page.wait_for_url("**/passes")
    page.goto(room.url + "passes/gone")
    page.get_by_text("There is no such pass.").first.wait_for()
