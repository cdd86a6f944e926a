"""A gate that a program opens, against a server of the test's own."""

import pytest

from orchestrator.errors import RequestError
from plate_cameras.client import AsyncCamerasClient, CamerasClient, cameras_client
from tests.plate_cameras.client.scripted_server import serving, to_answer

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
async def test_a_command_is_followed_to_its_outcome(
    end: dict[str, str], is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cameras_client, "ASK_EVERY_S", 0.0)
    options = {"reason": "courier", "pass_id": "a"}

    answers = (to_answer(OPENING, 202), *map(to_answer, (OPENING, BEGUN, end)))
    with serving(*answers) as server:
        if is_async:
            async with AsyncCamerasClient(server.url) as client:
                opening = await client.open_gate("north 1", **options)
        else:
            with CamerasClient(server.url) as client:
                opening = client.open_gate("north 1", **options)
    assert opening.outcome == end["outcome"]
    sent, *others = server.asked
    assert (sent.method, sent.path) == ("POST", "/v1/gates/north%201/openings?reason=courier")
    assert sent.body["pass_id"] == "a"
    assert {request.path for request in others} == {f"/v1/gates/openings/{OPENING['id']}"}


def test_a_retry_is_the_same_command() -> None:
    full = {"detail": "the database cannot be used now"}
    with (
        serving(to_answer(full, 503), to_answer(OPENED, 202)) as server,
        CamerasClient(server.url, retries=1) as client,
    ):
        assert client.open_gate("north", reason="courier").is_settled
    assert server.asked[0] == server.asked[1]


def test_a_gate_that_is_asked_already_is_told() -> None:
    busy = {"detail": "gate north: another command to open it waits"}
    with (
        serving(to_answer(busy, 409)) as server,
        CamerasClient(server.url) as client,
        pytest.raises(RequestError, match="another command"),
    ):
        client.open_gate("north", reason="courier")
