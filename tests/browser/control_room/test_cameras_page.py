"""The cameras page: areas are drawn over the still, by keyboard alone and by mouse."""

from typing import Any

import pytest

from plate_cameras.store.writing.live_tables import Areas
from tests.browser.conftest import Open
from tests.browser.control_room.rooms import RunningRoom
from tests.waiting import until


@pytest.fixture
def editor(open_quiet: Open) -> Any:
    page = open_quiet("cameras")
    page.get_by_role("button", name="Zones and lines").first.click()
    page.locator("#stage img").wait_for()
    return page


def save(page: Any, room: RunningRoom) -> Areas:
    """Save the areas, and return what is stored."""
    page.get_by_role("button", name="Save").click()
    page.locator("#editor").wait_for(state="hidden")
    until(lambda: "gate" in room.store.live.areas(), "stored areas")
    return room.store.live.areas()["gate"].areas


def test_a_zone_is_drawn_and_moved_by_keyboard_alone(editor: Any, room: RunningRoom) -> None:
    editor.locator("#add-zone").focus()
    editor.keyboard.press("Enter")
    for keys in (["ArrowLeft"] * 10, ["ArrowDown"] * 20, ["ArrowRight"] * 20):
        for key in keys:
            editor.keyboard.press(key)
        editor.keyboard.press("Space")
    editor.keyboard.press("Enter")
    editor.keyboard.press("Shift+ArrowUp")  # the first point has the focus now
    editor.keyboard.press("+")
    zone = save(editor, room).zones[-1]
    assert zone.name == "zone 1"
    points = [(0.4, 0.498), (0.4, 0.599), (0.4, 0.7), (0.6, 0.7)]
    assert [pytest.approx(point, abs=1e-6) for point in points] == [*zone.polygon]


def test_a_mask_and_a_line_are_drawn_by_mouse(editor: Any, room: RunningRoom) -> None:
    box = editor.locator("#stage").bounding_box()

    def at(x: float, y: float) -> tuple[float, float]:
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    editor.click("#add-mask")
    for point in ((0.1, 0.1), (0.4, 0.1), (0.4, 0.3)):
        editor.mouse.click(*at(*point))
    editor.mouse.click(*at(0.1, 0.1))
    editor.mouse.move(*at(0.4, 0.3))
    editor.mouse.down()
    editor.mouse.move(*at(0.5, 0.35), steps=3)
    editor.mouse.up()
    editor.click("#add-line")
    editor.mouse.click(*at(0.2, 0.9))
    editor.mouse.click(*at(0.8, 0.9))
    editor.get_by_label("Name of the line").last.fill("exit")
    areas = save(editor, room)
    assert [line.name for line in areas.lines] == ["barrier", "exit"]
    points = [(0.1, 0.1), (0.4, 0.1), (0.5, 0.35)]
    assert [pytest.approx(point, abs=0.01) for point in points] == [*areas.masks[0].polygon]


def test_areas_need_names_and_those_of_the_file_come_back(editor: Any, room: RunningRoom) -> None:
    editor.get_by_label("Name of the line").first.fill(" ")
    editor.get_by_role("button", name="Save").click()
    editor.get_by_text("Each area needs a name.").wait_for()
    assert editor.locator("#editor").is_visible()
    editor.get_by_label("Name of the line").first.fill("barrier")
    save(editor, room)
    editor.get_by_role("button", name="Zones and lines").first.click()
    editor.get_by_role("button", name="Back to the file's areas").click()
    editor.locator(".ask").get_by_role("button", name="Back to the file's areas").click()
    editor.locator("#editor").wait_for(state="hidden")
    until(lambda: "gate" not in room.store.live.areas(), "the file's areas")
