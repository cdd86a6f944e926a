"""Accessibility of every dialog and of the login: axe, the Escape key, and the focus."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.control_room.rooms import PASSWORD, RunningRoom, run_room_of_people
from tests.browser.looking import LAPTOP, PHONE, check_by_axe

DESK = {"locale": "en-GB", "color_scheme": "light", **LAPTOP}
POCKET = {"locale": "ru-RU", "color_scheme": "dark", **PHONE}
LISTS, BORIS = "lists?list=residents", "#people tr:nth-child(2) .actions button"
DIALOGS = [
    pytest.param("live", "#me", POCKET, id="own password"),
    pytest.param(LISTS, "#list-settings", DESK, id="settings of a list"),
    pytest.param(LISTS, "#list-delete", POCKET, id="deletion of a list"),
    pytest.param("people", "#add", POCKET, id="new person"),
    pytest.param("people", f"{BORIS}:nth-child(1)", DESK, id="person"),
    pytest.param("people", f"{BORIS}:nth-child(2)", DESK, id="password of a person"),
    pytest.param("people", f"{BORIS}:nth-child(3)", POCKET, id="deletion of a person"),
    pytest.param("passes/pass-0", "#export", DESK, id="export of a plate"),
    pytest.param("passes/pass-0", "#delete", POCKET, id="deletion of a plate"),
    pytest.param("cameras", ".camera button", POCKET, id="areas of a camera"),
]
"""Page, button and view of each dialog."""
OPEN = "dialog[open]"


@pytest.fixture(scope="module")
def room(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRoom]:
    """A control room whose people log in."""
    with run_room_of_people(tmp_path_factory.mktemp("room")) as running_room:
        yield running_room


@pytest.fixture(scope="module")
def cookies(browser: Any, room: RunningRoom) -> Any:
    """Return the state of a browser in which Anna has logged in."""
    context = browser.new_context()
    credentials = {"name": "anna", "password": PASSWORD}
    assert context.request.post(f"{room.url}v1/session", data=credentials).status == 200
    state = context.storage_state()
    context.close()
    return state


@pytest.mark.parametrize(
    "view", [pytest.param(DESK, id="English"), pytest.param(POCKET, id="Russian phone")]
)
def test_axe_finds_nothing_on_the_login(open_quiet: Open, view: dict[str, Any]) -> None:
    page = open_quiet("login", **view)
    page.locator("#login button:enabled").wait_for()
    check_by_axe(page)
    page.fill("#name", "anna")
    page.fill("#password", "wrong")
    page.keyboard.press("Enter")
    page.locator("#login-problem:not([hidden])").wait_for()
    check_by_axe(page)


@pytest.mark.parametrize(("path", "button", "view"), DIALOGS)
def test_a_dialog_is_good_for_axe_and_escape_leads_back(
    open_quiet: Open, cookies: Any, path: str, button: str, view: dict[str, Any]
) -> None:
    page = open_quiet(path, storage_state=cookies, **view)
    opener = page.locator(button).first
    opener.click(trial=True)  # waits for the content of the page
    opener.focus()
    page.keyboard.press("Enter")
    page.locator(OPEN).wait_for()
    assert page.evaluate(f"document.querySelector('{OPEN}').contains(document.activeElement)")
    check_by_axe(page)
    page.keyboard.press("Escape")
    page.locator(OPEN).wait_for(state="detached")
    assert opener.evaluate("(button) => button === document.activeElement")


def test_the_question_for_the_reason_leads_back(open_quiet: Open, cookies: Any) -> None:
    page = open_quiet("gates", storage_state=cookies)
    page.locator("#openings tr").first.wait_for()
    page.locator("#language").focus()
    page.evaluate("() => { import('/control/reasons.js').then((one) => one.wantReason()); }")
    page.locator(OPEN).wait_for()
    check_by_axe(page)
    page.keyboard.press("Escape")
    page.locator(OPEN).wait_for(state="detached")
    assert page.evaluate("document.activeElement.id") == "language"


def test_escape_leaves_the_editor_only_after_a_question(open_quiet: Open, cookies: Any) -> None:
    page = open_quiet("cameras", storage_state=cookies)
    opener = page.locator(".camera button").first
    opener.click()
    page.locator("#drafts input").first.fill("other")
    page.keyboard.press("Escape")
    page.locator(".ask").wait_for()
    check_by_axe(page)
    page.keyboard.press("Escape")
    page.locator(".ask").wait_for(state="detached")
    assert page.locator("#editor").is_visible()
    page.keyboard.press("Escape")
    page.locator(".ask .main").click()
    page.locator("#editor").wait_for(state="hidden")
    assert opener.evaluate("(button) => button === document.activeElement")


@pytest.mark.parametrize(
    ("path", "button"),
    [("people", "[aria-label='Edit: boris']"), (LISTS, "#list-settings:enabled")],
)
def test_the_focus_stays_at_the_button_of_what_is_changed(
    open_quiet: Open, cookies: Any, path: str, button: str
) -> None:
    page = open_quiet(path, storage_state=cookies)
    page.locator("#people tr, tr[data-text=A123BC77]").first.wait_for()
    page.locator(button).click()
    page.locator(".ask .main").click()
    page.locator(".ask").wait_for(state="detached")
    page.locator(f"{button}:focus").wait_for()


def test_axe_finds_nothing_while_an_entry_is_edited(open_quiet: Open, cookies: Any) -> None:
    page = open_quiet(LISTS, storage_state=cookies, color_scheme="dark")
    page.get_by_role("button", name="Edit: A123BC77").click()
    check_by_axe(page)
    page.set_input_files("#file", {"name": "a.csv", "mimeType": "text/csv", "buffer": b"x\n1\n"})
    page.locator("#import-told .banner").wait_for()
    check_by_axe(page)
    page.keyboard.press("Escape")
    page.locator("[aria-label='Edit: A123BC77']:focus").wait_for()
