"""Lists of plates and their entries, against a server of the test's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from orchestrator.errors import ParameterError, RequestError, ServerError
from plate_cameras.client import AsyncCamerasClient, CamerasClient, EntryRecord, ListRecord

ENTRY = {
    "text": "A123BC77",
    "note": "flat 12",
    "valid_from": None,
    "valid_until": "2026-12-26T00:00:00.000Z",
    "edits": 1,
}
RESIDENTS = {"name": "a/b", "note": "", "retention_days": None, "entries": 1, "cameras": ["gate"]}
ENTRIES = "/v1/lists/a%2Fb/entries"
Asked = list[tuple[str, str, Any]]


@contextmanager
def serving(*answers: tuple[int, Any]) -> Iterator[tuple[str, Asked]]:
    """Serve answers in turn. Yield the address, and the method, path and body of each request."""
    asked: Asked = []
    left = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked.append((self.command, self.path, json.loads(body) if body else None))
            status, document = next(left)
            content = b"" if document is None else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - as http.server calls them

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{http.server_port}", asked
        http.shutdown()
        thread.join()


def test_lists_come_by_name() -> None:
    with (
        serving((200, {"lists": [RESIDENTS], "cursor": ""})) as (url, _),
        CamerasClient(url) as client,
    ):
        assert list(client.lists()) == [ListRecord("a/b", "", None, 1, ("gate",))]


def test_all_pages_of_entries_are_read() -> None:
    second = ENTRY | {"text": "B456CE77"}
    pages = [
        (200, {"entries": [ENTRY], "cursor": "next"}),
        (200, {"entries": [second], "cursor": ""}),
    ]
    with serving(*pages) as (url, asked), CamerasClient(url) as client:
        entries = list(client.entries("a/b", part="flat"))
    end = datetime(2026, 12, 26, tzinfo=timezone.utc)
    assert entries[0] == EntryRecord("A123BC77", "flat 12", None, end, 1)
    assert entries[1].text == "B456CE77"
    assert [urlsplit(path).path for _, path, _ in asked] == [ENTRIES, ENTRIES]
    assert parse_qs(urlsplit(asked[1][1]).query)["cursor"] == ["next"]


def test_an_entry_is_put_and_deleted() -> None:
    with (
        serving((200, ENTRY), (204, None)) as (url, asked),
        CamerasClient(url) as client,
    ):
        stored = client.put_entry(
            "a/b", "A123BC77", note="flat 12", valid_until=date(2026, 12, 25), edits=1, reason="new"
        )
        client.delete_entry("a/b", "A123BC77")
    assert stored == EntryRecord.of(ENTRY)
    body = {"note": "flat 12", "valid_until": "2026-12-25", "edits": 1}
    assert asked == [
        ("PUT", f"{ENTRIES}/A123BC77?reason=new", body),
        ("DELETE", f"{ENTRIES}/A123BC77", None),
    ]


def test_a_time_is_sent_in_utc() -> None:
    begin = datetime(2026, 11, 25, 8, tzinfo=timezone.utc)
    with serving((200, ENTRY)) as (url, asked), CamerasClient(url) as client:
        client.put_entry("a", "A1", valid_from=begin)
    assert asked[0][2] == {"valid_from": "2026-11-25T08:00:00+00:00"}


def test_coroutines_put_entries_too() -> None:
    async def run(url: str) -> list[str]:
        async with AsyncCamerasClient(url) as client:
            await client.put_entry("a/b", "A123BC77")
            texts = [entry.text async for entry in client.entries("a/b")]
            await client.delete_entry("a/b", "A123BC77")
            return texts

    answers = [(200, ENTRY), (200, {"entries": [ENTRY], "cursor": ""}), (204, None)]
    with serving(*answers) as (url, asked):
        assert asyncio.run(run(url)) == ["A123BC77"]
    assert [method for method, _, _ in asked] == ["PUT", "GET", "DELETE"]


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
    with (
        serving((status, document)) as (url, _),
        CamerasClient(url) as client,
        pytest.raises(kind, match=message),
    ):
        client.delete_entry("a", "A1")


def test_an_answer_without_an_entry_is_an_error() -> None:
    with (
        serving((200, {"text": "A1"})) as (url, _),
        CamerasClient(url) as client,
        pytest.raises(ServerError, match="no answer of entries"),
    ):
        client.put_entry("a", "A1")


def test_an_unknown_option_is_an_error_at_once() -> None:
    with CamerasClient() as client, pytest.raises(ParameterError, match="got colour"):
        client.put_entry("a", "A1", colour="red")  # type: ignore[call-arg]
