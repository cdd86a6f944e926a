"""The site is read and searched as files, without a server and without a network."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import browser

__all__ = ["browser"]  # a fixture

DESKTOP, PHONE = (1280, 900), (390, 844)

Open = Callable[[str, tuple[int, int]], Any]


@pytest.fixture
def open_page(browser: Any, site: Path) -> Iterator[Open]:
    """Opens a page of the site; none may ask for anything but files, or complain."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def note_request(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            wrong.append(request.url)

    def open_one(name: str, size_wh: tuple[int, int]) -> Any:
        viewport = {"width": size_wh[0], "height": size_wh[1]}
        contexts.append(browser.new_context(viewport=viewport))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("request", note_request)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((site / name).as_uri())
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("size_wh", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize(
    "name", ["index.html", "rest.html", "reference/python.html", "reference/commands.html"]
)
def test_a_page_is_no_wider_than_the_screen(
    open_page: Open, name: str, size_wh: tuple[int, int]
) -> None:
    page = open_page(name, size_wh)
    assert page.evaluate("document.documentElement.scrollWidth") <= size_wh[0]
    assert page.locator("h1").is_visible()


def test_pictures_are_shown(open_page: Open) -> None:
    page = open_page("index.html", DESKTOP)
    assert page.locator("img[src='street.jpg']").evaluate("picture => picture.naturalWidth") == 1280


def test_the_search_finds_a_page(open_page: Open) -> None:
    page = open_page("index.html", DESKTOP)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("Too many calls")
    page.get_by_text(re.compile(r"\d+ results?")).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/troubleshooting.html*#too-many-calls")
