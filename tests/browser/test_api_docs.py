"""The documentation of the API at /docs, whose forms send calls, in a real browser."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.looking import LAPTOP, PHONE, check_by_axe
from tests.samples import STREET, TEXTS


@pytest.fixture
def docs(open_page: Open) -> Any:
    return open_page("docs", **LAPTOP)


def read_answer(page: Any, form: str) -> Any:
    """Wait for the answer of a form, and return it."""
    answer = page.locator(f"#try-{form} .answer")
    answer.wait_for()
    return json.loads(answer.text_content())


def test_a_form_sends_a_picture_and_shows_the_answer(docs: Any) -> None:
    docs.set_input_files("#recognize-file", STREET)
    docs.click("#try-recognize >> text=Parameters and key")
    docs.fill("#recognize-camera_id", "gate 7")
    docs.click("#try-recognize >> text=Send")
    answer = read_answer(docs, "recognize")
    assert sorted(plate["text"] for plate in answer["pictures"][0]["plates"]) == sorted(TEXTS)
    assert answer["camera_id"] == "gate 7"
    assert docs.text_content("#try-recognize .status").startswith("200 OK, ")


def test_a_sample_is_sent_at_once_and_an_error_is_shown_like_an_answer(
    docs: Any, broken: Path
) -> None:
    docs.click("#try-plateReader >> text=Take a sample picture")
    answer = read_answer(docs, "plateReader")
    assert "a123bc77" in [result["plate"] for result in answer["results"]]
    assert docs.text_content("#try-plateReader .status").startswith("201 Created, ")
    docs.set_input_files("#read-file", broken)
    docs.click("#try-read >> text=Send")
    assert read_answer(docs, "read")["reason"] == "picture"
    assert docs.text_content("#try-read .status").startswith("400 Bad Request, ")


def test_the_same_call_is_shown_as_a_command(docs: Any, url: str, tmp_path: Path) -> None:
    (tmp_path / "it's.jpg").touch()
    docs.click("#try-recognize >> text=Parameters and key")
    docs.fill("#recognize-max_plates", "3")
    docs.fill("#recognize-key", "secret")
    docs.set_input_files("#recognize-file", tmp_path / "it's.jpg")
    assert docs.text_content("#try-recognize .curl").strip() == (
        'curl --header "X-API-Key: $PLATES_KEY" '
        rf"--form 'picture=@it'\''s.jpg' '{url}v1/recognize?max_plates=3'"
    )
    assert docs.input_value("#read-key") == "secret"


def test_a_value_out_of_range_is_not_sent(docs: Any) -> None:
    docs.set_input_files("#recognize-file", STREET)
    docs.click("#try-recognize >> text=Parameters and key")
    docs.fill("#recognize-text_threshold", "2")
    docs.click("#try-recognize >> text=Send")
    assert docs.text_content("#try-recognize .status") == ""
    assert docs.evaluate("document.activeElement.id") == "recognize-text_threshold"


def test_without_a_script_the_browser_shows_the_answer(open_page: Open) -> None:
    page = open_page("docs", java_script_enabled=False)
    page.set_input_files("#recognize-file", STREET)
    page.click("#try-recognize >> text=Send")
    page.wait_for_url("**/v1/recognize")
    assert all(text in page.text_content("body") for text in TEXTS)


def test_the_keyboard_leads_past_the_contents(docs: Any) -> None:
    docs.keyboard.press("Tab")
    assert docs.evaluate("document.activeElement.textContent") == "To the text"
    docs.keyboard.press("Enter")
    docs.keyboard.press("Tab")
    assert docs.evaluate("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", [PHONE, LAPTOP], ids=["phone", "laptop"])
def test_axe_finds_nothing(open_page: Open, view: dict[str, Any], theme: str) -> None:
    page = open_page("docs", **view, color_scheme=theme)
    page.click("#try-recognize >> text=Parameters and key")
    page.click("#try-recognize >> text=Take a sample picture")
    read_answer(page, "recognize")
    check_by_axe(page)
