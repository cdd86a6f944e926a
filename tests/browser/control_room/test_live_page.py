"""The live page: passes appear as they are written."""

import time
from dataclasses import replace
from typing import Any

from plate_cameras.gates.reasons import to_sentence
from plate_cameras.store.openings.gate_openings import FAILED, OPENED, GateOpening
from plate_cameras.store.scope import EVERYTHING
from plate_cameras.store.writing.live_tables import CameraState
from tests.browser.conftest import Open
from tests.browser.control_room.rooms import NOW_S, RunningRoom, make_pass
from tests.waiting import until

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
    assert row.count() == 1
    page.hover(".pass-row >> nth=0")  # rows stand still while they are looked at
    room.store.write([make_pass("new-2", "agreed", at_s=LATER_S + 60)], [])
    page.get_by_role("button", name="1 new").wait_for()
    assert page.locator(".pass-row[data-id=new-2]").count() == 0
    page.mouse.move(1, 1)
    page.locator(".pass-row[data-id=new-2]").wait_for()


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


def ids_of(page: Any) -> set[str]:
    rows = "[...document.querySelectorAll('.pass-row')].map((row) => row.dataset.id)"
    return {id_ for id_ in page.evaluate(rows) if id_.startswith("pass-")}


def test_rows_can_be_chosen(open_quiet: Open) -> None:
    page = open_quiet("live")
    follow(page)
    page.check("#only-hits")
    page.locator(".pass-row[data-id=pass-1]").wait_for(state="detached")
    assert ids_of(page) == {"pass-0", "pass-2"}
    page.uncheck("#only-hits")
    page.select_option("#camera", "yard")
    page.locator(".pass-row[data-id=pass-3]").wait_for()
    page.locator(".pass-row[data-id=pass-0]").wait_for(state="detached")
    assert ids_of(page) == {"pass-1", "pass-3"}


def test_a_lost_connection_is_told_and_comes_back_and_the_sound_stays_on(
    open_quiet: Open, room: RunningRoom
) -> None:
    page = open_quiet("lists")
    page.route("**/v1/events**", lambda route: route.fulfill(status=503))
    page.goto(f"{room.url}live")
    page.get_by_text("Connection lost, connecting again").wait_for()
    page.unroute_all()
    follow(page)
    room.store.write([make_pass("new-3", "agreed", at_s=LATER_S + 120)], [])
    page.locator(".pass-row[data-id=new-3]").wait_for()
    page.get_by_role("button", name="Sound off").click()
    page.reload()
    page.get_by_role("button", name="Sound on").wait_for()
    assert page.locator("#sound").get_attribute("aria-pressed") == "true"


def take_command(room: RunningRoom) -> GateOpening:
    """Take a command as a watcher does."""
    commands: list[GateOpening] = []

    def is_taken() -> bool:
        commands.extend(room.store.commands.take(["barrier"], "late"))
        return bool(commands)

    until(is_taken, "a command")
    return commands[0]


def test_a_guard_opens_a_gate_for_a_row(open_quiet: Open, room: RunningRoom) -> None:
    page = open_quiet("live")
    follow(page)
    row = page.locator(".pass-row[data-id=pass-0]")
    row.get_by_text("barrier: Refused").wait_for()
    row.get_by_role("button").click()
    page.get_by_role("button", name="Open now").last.click()
    page.get_by_label("Reason").fill("courier")
    page.locator("dialog").get_by_role("button", name="Open now").click()
    command = take_command(room)
    assert (command.pass_id, command.person, command.remark) == ("pass-0", "local", "courier")
    room.store.openings.write([replace(command, outcome=OPENED)])
    page.locator("dialog").wait_for(state="detached")
    row.get_by_text("barrier: Opened").wait_for()


def test_a_guard_is_told_why_a_gate_has_not_opened(open_quiet: Open, room: RunningRoom) -> None:
    page = open_quiet("gates")
    page.get_by_role("button", name="Open now").click()
    page.get_by_label("Reason").fill("courier")
    page.locator("dialog").get_by_role("button", name="Open now").click()
    command = take_command(room)
    record = replace(command, outcome=FAILED, reason=to_sentence("silent"))
    room.store.openings.write([record])
    alert = page.locator("dialog [role=alert]")
    alert.get_by_text("The relay does not answer").wait_for()


def test_who_is_inside_too_long_is_told(open_quiet: Open, room: RunningRoom) -> None:
    now_s = time.time()
    here, away = ("P100KM07", "C200KM07")
    for number, (text, camera, ago_s) in enumerate(
        [(here, "gate", 5461.0), (away, "gate", 5000.0), (away, "yard", 100.0)]
    ):
        changes: dict[str, Any] = {"text": text, "camera": camera, "at_s": now_s - ago_s}
        room.store.write([make_pass(f"inside-{number}", **changes)], [])
    link = open_quiet("live").locator("#stays a")
    link.wait_for()
    assert link.inner_text() == "yard, too long inside: 1"
    page = open_quiet(str(link.get_attribute("href")).removeprefix(room.url))
    page.locator(".pass-row.overstay").wait_for()
    assert page.locator(".pass-row").count() == 1
    assert "1 hr 31 mins" in page.locator(".pass-row").inner_text()
    page.get_by_role("button", name=f"Actions: {here}").click()
    page.locator("dialog").get_by_role("button", name="Has left").click()
    page.get_by_text("Nobody is inside.").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(".pass-row.overstay").wait_for()


def test_the_picture_of_a_pass_is_shown_large_and_its_plate_is_put_on_a_list(
    open_quiet: Open, room: RunningRoom
) -> None:
    page = open_quiet("passes/pass-1")
    page.locator(".enlarge").click()
    large = page.locator("dialog.large")
    assert large.locator("img").get_attribute("alt")
    assert large.locator("a[download]").first.get_attribute("download").endswith("-frame.jpg")
    page.keyboard.press("Escape")
    large.wait_for(state="detached")
    assert "Blurred on purpose" in page.locator("#sight").inner_text()
    page.get_by_role("button", name="Add to a list").click()
    page.get_by_label("Note").fill("from the pass")
    page.locator("dialog").get_by_role("button", name="Save").click()
    page.locator("dialog").wait_for(state="detached")
    entries = room.store.lists.entries("residents", EVERYTHING)
    assert ("M456OP199", "from the pass") in [(entry.text, entry.note) for entry in entries]
