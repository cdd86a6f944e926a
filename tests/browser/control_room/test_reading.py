"""Accessibility of every page: axe, both languages, and the width of a phone."""

from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.control_room.rooms import RunningRoom, make_pass
from tests.browser.looking import LAPTOP, PHONE, check_by_axe

RUSSIAN = "\u0420\u0443\u0441\u0441\u043a\u0438\u0439"
REFUSED = "Для этого номера уже открывали 3 с"  # noqa: RUF001
OPENINGS = "\u0416\u0443\u0440\u043d\u0430\u043b \u043e\u0442\u043a\u0440\u044b\u0442\u0438\u0439"
READY = {
    "live": ".pass-row[data-id=pass-0]",
    "passes?until=2025-06-16": ".heat td button.some",
    "passes/pass-0": "#neighbours li",
    "lists?list=residents": "tr[data-text=A123BC77]",
    "cameras": ".still img",
    "gates": "#openings tr",
    "inside": "#nobody",
    "people": "#audit tr",
}
"""Elements that each page shows when it is complete; the login page is tested elsewhere."""


def open_ready(open_quiet: Open, path: str, **options: Any) -> Any:
    page = open_quiet(path, **options)
    page.locator(READY[path]).first.wait_for()
    return page


@pytest.mark.parametrize(
    "view",
    [
        pytest.param({"locale": "en-GB", "color_scheme": "light", **LAPTOP}, id="English"),
        pytest.param({"locale": "ru-RU", "color_scheme": "dark", **PHONE}, id="Russian phone"),
    ],
)
@pytest.mark.parametrize("path", READY)
def test_axe_finds_nothing_and_nothing_sticks_out(
    open_quiet: Open, path: str, view: dict[str, Any]
) -> None:
    page = open_ready(open_quiet, path, **view)
    check_by_axe(page)
    box = page.get_by_role("group", name=OPENINGS)  # of gates, in Russian
    assert box.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)")
    assert box.count() == (path == "gates" and view["locale"] == "ru-RU")


@pytest.mark.parametrize("locale", ["en-GB", "ru-RU"])
def test_nothing_sticks_out_between_a_phone_and_a_laptop(open_quiet: Open, locale: str) -> None:
    page = open_ready(open_quiet, "gates", locale=locale)
    wide = []
    for width in range(400, 1400, 50):
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth") != width:
            wide.append(width)
    assert wide == []


@pytest.mark.parametrize(
    ("path", "locale", "text"),
    [
        ("gates", "en-GB", "Opened for this plate 3 s ago"),
        ("passes/pass-0", "ru-RU", REFUSED),
    ],
)
def test_a_refusal_of_a_gate_is_told_in_the_language_of_the_page(
    open_quiet: Open, path: str, locale: str, text: str
) -> None:
    open_ready(open_quiet, path, locale=locale).get_by_text(text).wait_for()


def test_a_pass_of_a_clip_has_its_place_in_the_clip_and_comes_last(
    open_quiet: Open, room: RunningRoom
) -> None:
    room.store.write([make_pass("clip", at_s=3672.4, clock="file", camera="yard")], [])
    page = open_ready(open_quiet, "passes?until=2025-06-16")
    times = page.locator(".pass-row .when").all_inner_texts()
    assert [text.split("\n") for text in times][-1] == ["1:01:12", "in the clip"]
    assert len(times) == 5
    page.goto(f"{room.url}passes/clip")
    page.get_by_text("1:01:12 in the clip").first.wait_for()


def test_the_other_language_stays_on_the_next_page(open_quiet: Open) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    page = open_quiet("passes")
    page.route("**/v1/session", lambda route: None)  # never answered: readers do not wait for it
    page.goto(f"{page.url}?text=A123BC77")
    page.get_by_role("link", name=RUSSIAN).click()
    page.wait_for_url("**text=A123BC77&lang=ru")
    page.unroute_all()
    page.reload()
    playwright.expect(page.locator("#text")).to_have_value("A123BC77")
    page.get_by_role("link", name="\u0421\u043f\u0438\u0441\u043a\u0438").click()
    page.locator("html[lang=ru]").wait_for()
    page.get_by_text(
        "\u041d\u043e\u0432\u044b\u0439 \u0441\u043f\u0438\u0441\u043e\u043a"
    ).wait_for()


def test_what_is_typed_before_the_session_is_known_stays(open_quiet: Open) -> None:
    routes: list[Any] = []
    page = open_quiet("passes")
    page.route("**/v1/session", lambda route: routes.append(route))
    with page.expect_request("**/v1/session"):
        page.goto(page.url)
    page.fill("#text", "A12?BC77")
    routes.pop().continue_()
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_url("**/passes?text=A12%3FBC77")
