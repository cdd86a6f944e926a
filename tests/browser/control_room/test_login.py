"""The login, the roles, and the reason that a search must have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.control_room.rooms import PASSWORD, RunningRoom, run_room_of_people
from tests.serving.gateway.conftest import GREY


@pytest.fixture(scope="module")
def room(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRoom]:
    """A control room whose people log in, and give reasons for searches."""
    settings = "[control_room]\nreasons_required = true\n"
    with run_room_of_people(tmp_path_factory.mktemp("room"), settings) as running_room:
        yield running_room


@pytest.fixture
def grey(tmp_path: Path) -> Path:
    picture = tmp_path / "grey.jpg"
    picture.write_bytes(GREY)
    return picture


def log_in(page: Any, name: str, password: str = PASSWORD) -> None:
    page.fill("#name", name)
    page.fill("#password", password)
    page.get_by_role("button", name="Sign in").click()


def test_a_wrong_password_is_told_and_the_right_one_leads_back(open_quiet: Open) -> None:
    page = open_quiet("lists?list=residents")
    page.wait_for_url("**/login?next=lists%3Flist%3Dresidents")
    log_in(page, "boris", "wrong")
    page.get_by_text("The name or the password is wrong.").wait_for()
    log_in(page, "boris")
    page.wait_for_url("**/lists?list=residents")
    page.locator("tr[data-text=A123BC77]").wait_for()


def test_a_page_that_is_complete_late_leaves_the_focus_to_its_reader(
    open_quiet: Open, room: RunningRoom
) -> None:
    page = open_quiet("")
    routes: list[Any] = []
    page.route("**/control/login.js", lambda route: routes.append(route))
    with page.expect_request("**/control/login.js"):
        page.goto(f"{room.url}login", wait_until="commit")
    page.locator("#name:focus").wait_for()
    page.focus("#password")
    routes.pop().continue_()
    page.locator("button.main:enabled").wait_for()
    page.keyboard.type(PASSWORD)
    assert page.input_value("#name") == ""
    assert page.input_value("#password") == PASSWORD


def test_the_first_page_wants_a_key_or_a_login(open_quiet: Open, grey: Path) -> None:
    page = open_quiet("")
    page.get_by_role("link", name="Or sign in").click()
    log_in(page, "boris")
    page.get_by_text("You are signed in as boris. No key is needed.").wait_for()
    assert not page.locator("#key").is_visible()
    with page.expect_request("**/v1/recognize") as request:
        page.set_input_files("#pictures", grey)
    assert len(request.value.headers["x-csrf-token"]) == 64


def test_a_session_that_has_ended_makes_room_for_the_key(open_quiet: Open, grey: Path) -> None:
    page = open_quiet("login?next=./")
    log_in(page, "boris")
    page.locator("#signed-in").wait_for()
    page.context.clear_cookies()
    page.set_input_files("#pictures", grey)
    page.locator("#key").wait_for()
    assert not page.locator("#signed-in").is_visible()


def test_a_full_service_does_not_hide_a_session(open_quiet: Open) -> None:
    page = open_quiet("login?next=./")
    answers = [503, 503]

    def answer(route: Any) -> None:
        status = answers.pop() if answers else None
        route.fulfill(status=status) if status else route.continue_()

    log_in(page, "boris")
    page.locator("#signed-in").wait_for()
    page.route("**/v1/session", answer)
    page.reload()
    page.locator("#signed-in").wait_for()
    assert not answers


def test_a_viewer_sees_no_more_than_the_role_allows(open_quiet: Open) -> None:
    page = open_quiet("login?next=lists")
    log_in(page, "boris")
    page.locator("tr[data-text=A123BC77]").wait_for()
    assert not page.get_by_role("link", name="People").is_visible()
    names = ["Add a plate", "Create", "Delete", "Edit: A123BC77"]
    assert not [name for name in names if page.get_by_role("button", name=name).is_visible()]
    page.get_by_role("link", name="Cameras").click()
    page.locator(".camera").wait_for()
    assert page.locator(".camera h2").all_inner_texts() == ["yard"]
    assert not page.get_by_role("button", name="Zones and lines").is_visible()


@pytest.mark.parametrize(
    "address", ["//evil.example/", "https://evil.example/", "javascript:alert(1)"]
)
def test_the_login_leads_to_no_other_site(
    open_quiet: Open, room: RunningRoom, address: str
) -> None:
    page = open_quiet(f"login?next={address}")
    log_in(page, "boris")
    page.wait_for_url(lambda url: "login" not in url)
    assert page.url.startswith(room.url)


def test_a_reason_is_asked_for_once(open_quiet: Open, room: RunningRoom) -> None:
    page = open_quiet("login?next=passes")
    log_in(page, "anna")
    page.fill("#ask-reason", "\u0434\u0435\u043b\u043e 7")
    page.get_by_role("button", name="Continue").click()
    page.locator(".pass-row").nth(3).wait_for()
    page.fill("#text", "M456OP199")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#rows:not(.old):has(> :only-child)").wait_for()
    assert page.locator("#reason").inner_text() == "Reason: \u0434\u0435\u043b\u043e 7"
    page.get_by_role("link", name="People").click()
    page.locator("#audit tr", has_text="plate: M456OP199").wait_for()
    assert "\u0434\u0435\u043b\u043e 7" in page.locator("#audit").inner_text()


def test_people_change_their_own_passwords(open_quiet: Open) -> None:
    page = open_quiet("login?next=lists")
    log_in(page, "clara")
    page.get_by_role("button", name="clara").click()
    assert page.evaluate("document.activeElement.id") == "ask-old"
    save = page.locator(".ask").get_by_role("button", name="Save")
    page.fill("#ask-old", "wrong")
    page.fill("#ask-password", "another long password")
    page.fill("#ask-again", "another long one")
    save.click()
    page.get_by_text("The two new passwords differ.").wait_for()
    page.fill("#ask-again", "another long password")
    save.click()
    page.get_by_text("The present password is wrong.").wait_for()
    page.fill("#ask-old", PASSWORD)
    save.click()
    page.locator(".ask").wait_for(state="detached")
    page.get_by_role("button", name="Sign out").click()  # with the token of the new session
    page.wait_for_url("**/login")
    log_in(page, "clara")
    page.get_by_text("The name or the password is wrong.").wait_for()
    log_in(page, "clara", "another long password")
    page.wait_for_url("**/live")


def test_an_administrator_adds_a_person_and_signs_out(open_quiet: Open) -> None:
    page = open_quiet("login?next=people")
    log_in(page, "anna")
    page.get_by_role("button", name="Add a person").click()
    page.fill("#ask-name", "vera")
    page.fill("#ask-password", "another long password")
    page.select_option("#ask-role", "editor")
    page.locator(".ask").get_by_role("button", name="Save").click()
    page.fill("#ask-reason", "new colleague")
    page.get_by_role("button", name="Continue").click()
    page.locator("#people tr", has_text="vera").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    log_in(page, "vera", "another long password")
    page.wait_for_url("**/live")
    page.get_by_text("vera").wait_for()
