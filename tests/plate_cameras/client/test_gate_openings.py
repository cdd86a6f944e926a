"""A gate that a program opens, against a server of the test's own."""

from __future__ import annotations

import asyncio

import pytest

from orchestrator.errors import RequestError
from plate_cameras.client import AsyncCamerasClient, CamerasClient, cameras_client
from tests.plate_cameras.client.test_list_entries import serving

OPENING = {
    "id": "0c0ffee0-0000-4000-8000-000000000000",
    "gate": "north",
    "camera": "gate",
    "pass_id": "a",
    "text": "A123BC77",
    "outcome": "requested",
    "reason": "",
    "reason_code": "",
    "person": "key:desk",
    "remark": "courier",
    "time": "2026-11-25T08:00:00.000Z",
}
BEGUN = OPENING | {"outcome": "unknown", "reason_code": "begun"}
OPENED = OPENING | {"outcome": "opened"}
FAILED = OPENING | {"outcome": "failed", "reason": "no answer", "reason_code": "silent"}


@pytest.mark.parametrize("end", [OPENED, FAILED], ids=["opened", "failed"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_command_is_followed_to_its_outcome(
    end: dict[str, str], is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cameras_client, "ASK_EVERY_S", 0.0)
    options = {"reason": "courier", "pass_id": "a"}

    async def open_gate(url: str) -> str:
        if not is_async:
            with CamerasClient(url) as client:
                return client.open_gate("north 1", **options).outcome
        async with AsyncCamerasClient(url) as client:
            return (await client.open_gate("north 1", **options)).outcome

    with serving((202, OPENING), (200, OPENING), (200, BEGUN), (200, end)) as (url, asked):
        assert asyncio.run(open_gate(url)) == end["outcome"]
    (method, path, body), *others = asked
    assert (method, path) == ("POST", "/v1/gates/north%201/openings?reason=courier")
    assert body["pass_id"] == "a"
    assert {path for _, path, _ in others} == {f"/v1/gates/openings/{OPENING['id']}"}


def test_a_retry_is_the_same_command() -> None:
    full = {"detail": "the database cannot be used now"}
    with (
        serving((503, full), (202, OPENED)) as (url, asked),
        CamerasClient(url, retries=1) as client,
    ):
        assert client.open_gate("north", reason="courier").is_settled
    assert asked[0] == asked[1]


def test_a_gate_that_is_asked_already_is_told() -> None:
    busy = {"detail": "gate north: another command to open it waits"}
    with (
        serving((409, busy)) as (url, _),
        CamerasClient(url) as client,
        pytest.raises(RequestError, match="another command"),
    ):
        client.open_gate("north", reason="courier")
