"""Passes, lists and gates, against a server of the test's own."""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from orchestrator.client.transport import FakeTransport
from orchestrator.errors import Overloaded, ParameterError, RequestError, ServerError
from plate_cameras.client import (
    AsyncCamerasClient,
    CamerasClient,
    EntryRecord,
    ListRecord,
    PassRecord,
    cameras_client,
)
from tests.plate_cameras.client.scripted_server import ScriptedRequest, asking, serving, to_answer

MOSCOW = timezone(timedelta(hours=3))
PASS = {
    "id": "a",
    "camera": "gate",
    "progress": "closed",
    "first_seen": "2026-11-25T08:00:00.500Z",
    "last_seen": "2026-11-25T08:00:02.000Z",
    "clock": "wall",
    "text": "A123BC77",
    "text_native": "",
    "text_score": 0.98,
    "format": "ru_car",
    "region_code": "77",
    "region": "Moscow",
    "direction": "towards",
    "zones": ["entry"],
    "frames": 14,
    "lists": [{"list": "residents", "text": "A123BC77", "note": "", "edits": 0}],
    "crop": "/v1/passes/a/crop.jpg",
    "frame": None,
}
PAGES = (
    to_answer({"passes": [PASS], "cursor": "1.0_1"}),
    to_answer({"passes": [PASS | {"id": "b"}], "cursor": ""}),
)
ENTRY = {
    "text": "A123BC77",
    "note": "flat 12",
    "valid_from": None,
    "valid_until": "2026-12-26T00:00:00.000Z",
    "edits": 1,
}
RESIDENTS = {"name": "a/b", "note": "", "retention_days": None, "entries": 1, "cameras": ["gate"]}
ENTRIES = "/v1/lists/a%2Fb/entries"
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
Call = Callable[[CamerasClient], object]


def query_of(request: ScriptedRequest) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(request.path).query)


def test_all_pages_are_read_as_the_caller_goes_on() -> None:
    with asking(*PAGES, key="secret") as (server, client):
        records = client.passes(text="A123*")
        assert server.requests == []
        first = next(records)
        assert [*map(query_of, server.requests)] == [[("text", "A123*"), ("limit", "200")]]
        assert [record.id for record in records] == ["b"]
    assert query_of(server.requests[1])[-1] == ("cursor", "1.0_1")
    assert [request.key for request in server.requests] == ["Bearer secret"] * 2
    assert first == PassRecord.of(PASS)
    assert first.first_seen == datetime(2026, 11, 25, 8, 0, 0, 500_000, timezone.utc)
    assert (first.zones, first.lists, first.frame) == (("entry",), ("residents",), None)


def test_every_condition_is_sent_under_its_name() -> None:
    same = {"text": "A123BC77", "region": "77", "zone": "entry", "direction": "towards"}
    conditions = {**same, "reason": "case 7", "part": ["12", "BC"], "edits": 1, "page": 10}
    conditions |= {"camera": ["gate", "yard"], "plate_list": "residents", "until": "2026-11-26"}
    since = datetime(2026, 11, 25, 8, tzinfo=MOSCOW)
    with asking(to_answer({"passes": [], "cursor": ""})) as (server, client):
        assert list(client.passes(**conditions, since=since)) == []
    (request,) = server.requests
    pairs = [*same.items(), ("reason", "case 7"), ("part", "12"), ("part", "BC"), ("edits", "1")]
    pairs += [("camera", "gate"), ("camera", "yard"), ("list", "residents"), ("limit", "10")]
    pairs += [("until", "2026-11-26"), ("from", "2026-11-25T05:00:00+00:00")]
    assert sorted(query_of(request)) == sorted(pairs)


def test_lists_and_all_pages_of_entries_are_read() -> None:
    second = ENTRY | {"text": "B456CE77"}
    pages = {"entries": [ENTRY], "cursor": "next"}, {"entries": [second], "cursor": ""}
    lists = {"lists": [RESIDENTS], "cursor": ""}
    with asking(*map(to_answer, (lists, *pages))) as (server, client):
        assert list(client.lists()) == [ListRecord("a/b", "", None, 1, ("gate",))]
        entries = list(client.entries("a/b", part="flat"))
    end = datetime(2026, 12, 26, tzinfo=timezone.utc)
    assert entries[0] == EntryRecord("A123BC77", "flat 12", None, end, 1)
    assert entries[1].text == "B456CE77"
    _, *urls = (urlsplit(request.path) for request in server.requests)
    assert [url.path for url in urls] == [ENTRIES, ENTRIES]
    assert parse_qs(urls[1].query)["cursor"] == ["next"]


def test_an_entry_is_put_and_deleted() -> None:
    begin, end = datetime(2026, 11, 25, 8, tzinfo=timezone.utc), date(2026, 12, 25)
    times = {"valid_from": begin, "valid_until": end}
    with asking(to_answer(ENTRY), to_answer(None, 204)) as (server, client):
        entry = client.put_entry("a/b", "A123BC77", note="flat 12", edits=1, reason="new", **times)
        client.delete_entry("a/b", "A123BC77")
    assert entry == EntryRecord.of(ENTRY)
    sent_times = {"valid_from": "2026-11-25T08:00:00+00:00", "valid_until": "2026-12-25"}
    assert [(request.method, request.path, request.body) for request in server.requests] == [
        ("PUT", f"{ENTRIES}/A123BC77?reason=new", {"note": "flat 12", "edits": 1, **sent_times}),
        ("DELETE", f"{ENTRIES}/A123BC77", None),
    ]


async def test_coroutines_read_and_change_too() -> None:
    page = to_answer({"entries": [ENTRY], "cursor": ""})
    with serving(*PAGES, to_answer(ENTRY), page, to_answer(None, 204)) as server:
        async with AsyncCamerasClient(server.url) as client:
            passes = [record.id async for record in client.passes(camera="gate", page=1)]
            await client.put_entry("a/b", "A123BC77")
            assert [entry.text async for entry in client.entries("a/b")] == ["A123BC77"]
            await client.delete_entry("a/b", "A123BC77")
    assert passes == ["a", "b"]
    assert query_of(server.requests[0]) == [("camera", "gate"), ("limit", "1")]
    methods = ["GET", "GET", "PUT", "GET", "DELETE"]
    assert [request.method for request in server.requests] == methods


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
    command, *others = server.requests
    assert (command.method, command.path) == ("POST", "/v1/gates/north%201/openings?reason=courier")
    assert command.body["pass_id"] == "a"
    assert {request.path for request in others} == {f"/v1/gates/openings/{OPENING['id']}"}


def test_a_retry_is_the_same_command() -> None:
    full = {"detail": "the database cannot be used now"}
    with asking(to_answer(full, 503), to_answer(OPENED, 202), retries=1) as (server, client):
        assert client.open_gate("north", reason="courier").is_settled
    assert server.requests[0] == server.requests[1]


def search(client: CamerasClient) -> object:
    return next(client.passes())


def delete(client: CamerasClient) -> None:
    client.delete_entry("a", "A1")


def put(client: CamerasClient) -> EntryRecord:
    return client.put_entry("a", "A1")


def open_gate(client: CamerasClient) -> object:
    return client.open_gate("north", reason="courier")


def make_problem(message: str) -> dict[str, str]:
    return {"detail": message}


@pytest.mark.parametrize(
    ("call", "status", "document", "kind", "message"),
    [
        (search, 400, make_problem("limit: wanted"), RequestError, "limit: wanted"),
        (search, 401, make_problem("wanted a key"), RequestError, "wanted a key"),
        (search, 403, make_problem("role: wanted"), RequestError, "role: wanted"),
        (search, 404, make_problem("no such path: /v1/passes"), RequestError, "--cameras"),
        (search, 503, make_problem("the database"), Overloaded, "the database"),
        (search, 200, {"plates": []}, ServerError, "no answer of passes"),
        (search, 502, ["a balancer"], ServerError, "HTTP 502"),
        (delete, 404, make_problem("no entry 'A1'"), RequestError, "no entry"),
        (delete, 403, make_problem("role: wanted"), RequestError, "role"),
        (delete, 200, {"text": "A1"}, ServerError, "HTTP 200"),
        (put, 200, {"text": "A1"}, ServerError, "no answer of entries"),
        (open_gate, 409, make_problem("another command waits"), RequestError, "another command"),
    ],
)
def test_what_the_server_rejects_or_does_not_understand_is_an_error(
    call: Call, status: int, document: Any, kind: type[Exception], message: str
) -> None:
    with asking(to_answer(document, status)) as (_, client), pytest.raises(kind, match=message):
        call(client)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda client: client.passes(plate="A123BC77"), "got plate"),
        (lambda client: client.put_entry("a", "A1", colour="red"), "got colour"),
        *(
            (lambda client, at=at: client.events(after=at), "after: wanted")
            for at in (-1, True, "7")
        ),
    ],
)
def test_an_unknown_option_is_told_at_once(call: Call, message: str) -> None:
    with CamerasClient() as client, pytest.raises(ParameterError, match=message):
        call(client)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (search, "got a custom transport"),
        (lambda client: next(client.events()), "v1/events: wanted a client"),
    ],
)
def test_passes_and_events_need_an_address_of_http(call: Call, message: str) -> None:
    with CamerasClient("grpc://127.0.0.1:1") as grpc, pytest.raises(RequestError, match="of gRPC"):
        call(grpc)
    custom = CamerasClient(transport=FakeTransport())
    with custom, pytest.raises(RequestError, match=message):
        call(custom)
