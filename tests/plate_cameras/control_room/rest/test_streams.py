"""Requests whose caller loses all rights during the answer."""

from __future__ import annotations

from typing import Any

import pytest

from plate_cameras.control_room import endpoint
from tests.plate_cameras.control_room.rest.rooms import Room

CSV = {"content-type": "text/csv"}


def test_a_slow_answer_is_not_given(filled: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.withdraw_rights()
    assert filled.client.get("/v1/passes").status_code == 200  # it was quick
    monkeypatch.setattr(endpoint, "CHECK_S", 0.0)
    assert filled.client.get("/v1/passes").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/lists/residents", {"json": {"note": "after"}}),
        ("PUT", "/v1/lists/residents/entries/C001CC77", {"json": {}}),
        ("POST", "/v1/lists/residents/entries", {"content": "text\nC001CC77\n", "headers": CSV}),
        ("PUT", "/v1/people/clara", {"json": {"role": "viewer", "password": "long enough 12"}}),
        ("PUT", "/v1/cameras/gate/areas", {"json": {}}),
    ],
)
def test_a_body_that_came_too_late_changes_nothing(
    filled: Room, method: str, path: str, body: dict[str, Any]
) -> None:
    before = filled.get("/v1/lists"), filled.get("/v1/audit")
    filled.withdraw_rights()
    assert filled.client.request(method, path, **body).status_code == 401
    assert (filled.get("/v1/lists"), filled.get("/v1/audit")) == before


@pytest.mark.parametrize("path", ["/v1/passes?format=csv", "/v1/plates/A123BC77/export"])
def test_an_export_breaks_off(filled: Room, path: str) -> None:
    whole = filled.client.get(path)
    filled.withdraw_rights()
    with filled.client.stream("GET", path) as answer:
        assert b"".join(answer.iter_raw()) == b""
    assert (whole.status_code, len(whole.content) > 100) == (200, True)
