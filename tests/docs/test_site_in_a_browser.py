"""The site works from local files: reading and searching, without a server or a network."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import browser

__all__ = ["browser"]  # a fixture

pytestmark = pytest.mark.server
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WIDTH_PX = "document.documentElement.scrollWidth"

Open = Callable[[str], Any]


@pytest.fixture
def open_page(browser: Any, site: Path) -> Iterator[Open]:
    """Opens a page of the site; fails if it requests anything but files, or logs an error."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def note_request(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            wrong.append(request.url)

    def open_named(name: str) -> Any:
        contexts.append(browser.new_context(viewport=DESKTOP))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("request", note_request)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((site / name).as_uri())
        return page

    yield open_named
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize(
    "name", ["index.html", "rest.html", "reference/python.html", "reference/commands.html"]
)
def test_a_page_is_no_wider_than_the_screen(open_page: Open, name: str) -> None:
    page = open_page(name)
    assert page.evaluate(WIDTH_PX) <= DESKTOP["width"]
    page.set_viewport_size(PHONE)
    assert page.evaluate(WIDTH_PX) <= PHONE["width"]
    assert page.locator("h1").is_visible()


def test_the_start_shows_its_picture_and_its_search_finds_a_page(open_page: Open) -> None:
    page = open_page("index.html")
    assert page.locator("img[src='street.jpg']").evaluate("picture => picture.naturalWidth") == 1280
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("Too many calls")
    page.get_by_text(re.compile(r"\d+ results?")).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/troubleshooting.html*#too-many-calls")
