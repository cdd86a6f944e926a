"""Lists of plates and their entries, against a server of the test's own."""

from datetime import date, datetime, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from orchestrator.errors import ParameterError, RequestError, ServerError
from plate_cameras.client import AsyncCamerasClient, CamerasClient, EntryRecord, ListRecord
from tests.plate_cameras.client.scripted_server import serving, to_answer

ENTRY = {
    "text": "A123BC77",
    "note": "flat 12",
    "valid_from": None,
    "valid_until": "2026-12-26T00:00:00.000Z",
    "edits": 1,
}
RESIDENTS = {"name": "a/b", "note": "", "retention_days": None, "entries": 1, "cameras": ["gate"]}
ENTRIES = "/v1/lists/a%2Fb/entries"


def test_lists_come_by_name() -> None:
    answer = to_answer({"lists": [RESIDENTS], "cursor": ""})
    with serving(answer) as server, CamerasClient(server.url) as client:
        assert list(client.lists()) == [ListRecord("a/b", "", None, 1, ("gate",))]


def test_all_pages_of_entries_are_read() -> None:
    second = ENTRY | {"text": "B456CE77"}
    pages = [
        to_answer({"entries": [ENTRY], "cursor": "next"}),
        to_answer({"entries": [second], "cursor": ""}),
    ]
    with serving(*pages) as server, CamerasClient(server.url) as client:
        entries = list(client.entries("a/b", part="flat"))
    end = datetime(2026, 12, 26, tzinfo=timezone.utc)
    assert entries[0] == EntryRecord("A123BC77", "flat 12", None, end, 1)
    assert entries[1].text == "B456CE77"
    urls = [urlsplit(request.path) for request in server.asked]
    assert [url.path for url in urls] == [ENTRIES, ENTRIES]
    assert parse_qs(urls[1].query)["cursor"] == ["next"]


def test_an_entry_is_put_and_deleted() -> None:
    answers = to_answer(ENTRY), to_answer(None, 204)
    with serving(*answers) as server, CamerasClient(server.url) as client:
        stored = client.put_entry(
            "a/b", "A123BC77", note="flat 12", valid_until=date(2026, 12, 25), edits=1, reason="new"
        )
        client.delete_entry("a/b", "A123BC77")
    assert stored == EntryRecord.of(ENTRY)
    body = {"note": "flat 12", "valid_until": "2026-12-25", "edits": 1}
    assert [(one.method, one.path, one.body) for one in server.asked] == [
        ("PUT", f"{ENTRIES}/A123BC77?reason=new", body),
        ("DELETE", f"{ENTRIES}/A123BC77", None),
    ]


def test_a_time_is_sent_in_utc() -> None:
    begin = datetime(2026, 11, 25, 8, tzinfo=timezone.utc)
    with serving(to_answer(ENTRY)) as server, CamerasClient(server.url) as client:
        client.put_entry("a", "A1", valid_from=begin)
    assert server.asked[0].body == {"valid_from": "2026-11-25T08:00:00+00:00"}


async def test_coroutines_put_entries_too() -> None:
    page = to_answer({"entries": [ENTRY], "cursor": ""})
    with serving(to_answer(ENTRY), page, to_answer(None, 204)) as server:
        async with AsyncCamerasClient(server.url) as client:
            await client.put_entry("a/b", "A123BC77")
            assert [entry.text async for entry in client.entries("a/b")] == ["A123BC77"]
            await client.delete_entry("a/b", "A123BC77")
    assert [request.method for request in server.asked] == ["PUT", "GET", "DELETE"]


@pytest.mark.parametrize(
    ("status", "document", "kind", "message"),
    [
        pytest.param(404, {"detail": "no entry 'A1'"}, RequestError, "no entry", id="missing"),
        pytest.param(403, {"detail": "role: wanted"}, RequestError, "role", id="role"),
        pytest.param(200, {"text": "A1"}, ServerError, "HTTP 200", id="another answer"),
    ],
)
def test_a_deletion_that_failed_is_an_error(
    status: int, document: Any, kind: type[Exception], message: str
) -> None:
    answer = to_answer(document, status)
    with (
        serving(answer) as server,
        CamerasClient(server.url) as client,
        pytest.raises(kind, match=message),
    ):
        client.delete_entry("a", "A1")


def test_an_answer_without_an_entry_is_an_error() -> None:
    with (
        serving(to_answer({"text": "A1"})) as server,
        CamerasClient(server.url) as client,
        pytest.raises(ServerError, match="no answer of entries"),
    ):
        client.put_entry("a", "A1")


def test_an_unknown_option_is_an_error_at_once() -> None:
    with CamerasClient() as client, pytest.raises(ParameterError, match="got colour"):
        client.put_entry("a", "A1", colour="red")  # type: ignore[call-arg]
