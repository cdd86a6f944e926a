"""The live page: passes appear as they are written."""

from __future__ import annotations

import time
from typing import Any

import pytest

from plate_cameras.store.writing.live_tables import CameraState
from tests.browser.conftest import Open
from tests.browser.control_room.rooms import NOW_S, RunningRoom, make_pass

LATER_S = NOW_S + 10_000


def follow(page: Any) -> None:
    """Wait until the page shows the earlier passes and receives new ones."""
    page.locator("#connection[data-state=open]").wait_for()
    page.locator(".pass-row[data-id=pass-0]").wait_for()


def test_a_pass_appears_when_it_is_written_and_changes_in_place(
    open_quiet: Open, room: RunningRoom
) -> None:
    page = open_quiet("live")
    follow(page)
    room.store.write([make_pass("new-1", "agreed", at_s=LATER_S)], [])
    row = page.locator(".pass-row[data-id=new-1]")
    row.wait_for()
    assert page.locator(".pass-row").first.get_attribute("data-id") == "new-1"
    assert "residents flat 12" in row.inner_text()
    assert "in view" in row.inner_text()
    assert page.locator("#latest .face").get_attribute("aria-label") == "A123BC77"
    room.store.write([make_pass("new-1", at_s=LATER_S)], [])
    page.locator(".pass-row.closed[data-id=new-1]").wait_for()
    assert page.locator(".pass-row[data-id=new-1]").count() == 1


def test_cameras_that_nobody_follows_are_named(open_quiet: Open, room: RunningRoom) -> None:
    away = open_quiet("live").locator("#away")
    away.wait_for()
    assert away.inner_text().startswith("No connection to: gate, yard. ")
    assert away.locator("a").get_attribute("href") == "cameras"
    state = {"state": "playing", "frames": 12, "plates": 7, "passes": 4, "delay_s": 0.2}
    room.store.live.write_states([CameraState("yard", "watcher", time.time(), state)])
    away = open_quiet("live").locator("#away")
    away.wait_for()
    assert away.inner_text().startswith("No connection to: gate.")


def test_rows_stand_still_while_they_are_looked_at(open_quiet: Open, room: RunningRoom) -> None:
    page = open_quiet("live")
    follow(page)
    page.hover(".pass-row >> nth=0")
    room.store.write([make_pass("new-2", "agreed", at_s=LATER_S + 60)], [])
    page.get_by_role("button", name="1 new").wait_for()
    assert page.locator(".pass-row[data-id=new-2]").count() == 0
    page.mouse.move(1, 1)
    page.locator(".pass-row[data-id=new-2]").wait_for()


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        pytest.param(lambda page: page.check("#only-hits"), {"pass-0", "pass-2"}, id="hits"),
        pytest.param(
            lambda page: page.select_option("#camera", "yard"), {"pass-1", "pass-3"}, id="camera"
        ),
    ],
)
def test_rows_can_be_chosen(open_quiet: Open, choice: Any, shown: set[str]) -> None:
    page = open_quiet("live")
    follow(page)
    choice(page)
    page.locator(
        ".pass-row[data-id=pass-0]" if "pass-0" in shown else "[data-id=pass-3]"
    ).wait_for()
    other = "pass-1" if "pass-0" in shown else "pass-0"
    page.locator(f".pass-row[data-id={other}]").wait_for(state="detached")
    ids = page.evaluate("[...document.querySelectorAll('.pass-row')].map((row) => row.dataset.id)")
    assert {one for one in ids if one.startswith("pass-")} == shown


def test_a_lost_connection_is_told_and_comes_back(open_quiet: Open, room: RunningRoom) -> None:
    page = open_quiet("lists")
    page.route("**/v1/events**", lambda route: route.fulfill(status=503))
    page.goto(f"{room.url}live")
    page.get_by_text("Connection lost, connecting again").wait_for()
    page.unroute_all()
    follow(page)
    room.store.write([make_pass("new-3", "agreed", at_s=LATER_S + 120)], [])
    page.locator(".pass-row[data-id=new-3]").wait_for()


def test_the_sound_stays_switched_on(open_quiet: Open) -> None:
    page = open_quiet("live")
    page.get_by_role("button", name="Sound off").click()
    page.reload()
    page.get_by_role("button", name="Sound on").wait_for()
    assert page.locator("#sound").get_attribute("aria-pressed") == "true"
