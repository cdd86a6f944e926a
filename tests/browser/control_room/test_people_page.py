"""The page of people: tests of receivers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open


@pytest.mark.parametrize(
    ("options", "button", "message"),
    [
        ({}, "Send a test: guard", "accepted: "),
        ({"locale": "ru-RU"}, "Проверить: guard", "принято: "),
    ],
)
@pytest.mark.usefixtures("room")
def test_a_button_tests_a_receiver(
    open_quiet: Open, options: dict[str, Any], button: str, message: str
) -> None:
    page = open_quiet("people", **options)
    page.get_by_role("button", name=button).click()
    outcome = page.locator("#sinks .pill.warm")
    outcome.wait_for()
    assert message in outcome.inner_text()
    kinds = page.context.request.get(page.url.replace("people", "v1/audit")).json()["searches"]
    assert (kinds[0]["kind"], kinds[0]["query"]) == ("test sink", {"sink": "guard"})
