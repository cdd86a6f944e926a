"""Searches for stored passes, against a server of the test's own."""

from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from orchestrator.client.transport import FakeTransport
from orchestrator.errors import Overloaded, ParameterError, RequestError, ServerError
from plate_cameras.client import AsyncCamerasClient, CamerasClient, PassRecord
from tests.plate_cameras.client.scripted_server import Request, serving, to_answer

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
NO_PASSES = to_answer({"passes": [], "cursor": ""})


def query_of(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(request.path).query)


def test_all_pages_are_read_as_the_caller_goes_on() -> None:
    with serving(*PAGES) as server, CamerasClient(server.url, key="secret") as client:
        found = client.passes(text="A123*")
        assert server.asked == []
        first = next(found)
        assert [*map(query_of, server.asked)] == [[("text", "A123*"), ("limit", "200")]]
        assert [one.id for one in found] == ["b"]
    assert query_of(server.asked[1])[-1] == ("cursor", "1.0_1")
    assert [request.key for request in server.asked] == ["Bearer secret"] * 2
    assert first == PassRecord.of(PASS)
    assert first.first_seen == datetime(2026, 11, 25, 8, 0, 0, 500_000, timezone.utc)
    assert (first.zones, first.lists, first.frame) == (("entry",), ("residents",), None)


async def test_a_coroutine_reads_all_pages_too() -> None:
    with serving(*PAGES) as server:
        async with AsyncCamerasClient(server.url) as client:
            found = [one.id async for one in client.passes(camera="gate", page=1)]
    assert found == ["a", "b"]
    assert query_of(server.asked[0]) == [("camera", "gate"), ("limit", "1")]


def test_every_condition_is_sent_under_its_name() -> None:
    with serving(NO_PASSES) as server, CamerasClient(server.url) as client:
        search = client.passes(
            text="A123BC77",
            part=["12", "BC"],
            edits=1,
            camera=["gate", "yard"],
            since=datetime(2026, 11, 25, 8, tzinfo=MOSCOW),
            until="2026-11-26",
            region="77",
            plate_list="residents",
            zone="entry",
            direction="towards",
            reason="case 7",
            page=10,
        )
        assert list(search) == []
    assert [*map(query_of, server.asked)] == [
        [
            ("text", "A123BC77"),
            ("part", "12"),
            ("part", "BC"),
            ("edits", "1"),
            ("camera", "gate"),
            ("camera", "yard"),
            ("from", "2026-11-25T05:00:00+00:00"),
            ("until", "2026-11-26"),
            ("region", "77"),
            ("list", "residents"),
            ("zone", "entry"),
            ("direction", "towards"),
            ("reason", "case 7"),
            ("limit", "10"),
        ]
    ]


@pytest.mark.parametrize(
    ("status", "document", "kind", "message"),
    [
        pytest.param(400, {"detail": "limit: wanted"}, RequestError, "limit: wanted", id="query"),
        pytest.param(401, {"detail": "wanted a key"}, RequestError, "wanted a key", id="key"),
        pytest.param(403, {"detail": "role: wanted"}, RequestError, "role: wanted", id="role"),
        pytest.param(
            404, {"detail": "no such path: /v1/passes"}, RequestError, "--cameras", id="no cameras"
        ),
        pytest.param(503, {"detail": "the database"}, Overloaded, "the database", id="database"),
        pytest.param(200, {"plates": []}, ServerError, "no answer of passes", id="other answer"),
        pytest.param(502, ["a balancer"], ServerError, "HTTP 502", id="no problem"),
    ],
)
def test_failures_are_those_of_other_calls(
    status: int, document: Any, kind: type[Exception], message: str
) -> None:
    answer = to_answer(document, status)
    with (
        serving(answer) as server,
        CamerasClient(server.url) as client,
        pytest.raises(kind, match=message),
    ):
        next(client.passes())


def test_an_unknown_condition_is_told_at_once() -> None:
    with CamerasClient() as client, pytest.raises(ParameterError, match="got plate"):
        client.passes(plate="A123BC77")  # type: ignore[call-arg]


def test_passes_need_an_address_of_http() -> None:
    with CamerasClient("grpc://127.0.0.1:1") as grpc, pytest.raises(RequestError, match="of gRPC"):
        next(grpc.passes())
    custom = CamerasClient(transport=FakeTransport())
    with custom, pytest.raises(RequestError, match="got a custom transport"):
        next(custom.passes())
