"""Searches, single passes, pictures, counts and CSV over HTTP."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from plate_cameras.control_room.rest import csv_export
from plate_cameras.passes import describe_pass
from tests.plate_cameras.control_room.rest.rooms import VIEWER, RestRoom
from tests.plate_cameras.control_room.streams import StreamedAnswer
from tests.plate_cameras.store.stored_events import NOW_S, make_event
from tests.waiting import until


def ids(room: RestRoom, query: str = "") -> list[str]:
    return [fields["id"] for fields in room.get(f"/v1/passes{query}")["passes"]]


def test_a_pass_has_the_fields_of_its_event_and_more(filled_room: RestRoom) -> None:
    (fields,) = filled_room.get("/v1/passes?camera=gate")["passes"]
    event = describe_pass(make_event("gate-1").vehicle_pass)
    event["best"] |= {"part": None, "blur": "none"}
    assert {name: fields[name] for name in event} == event
    assert {name: fields[name] for name in fields.keys() - event.keys()} == {
        "lists": [{"list": "residents", "text": "A123BC77", "note": "flat 12", "edits": 0}],
        "crop": "/v1/passes/gate-1/crop.jpg",
        "frame": "/v1/passes/gate-1/frame.jpg",
        "stored": "2025-06-15T15:06:40.000Z",
    }


@pytest.mark.parametrize(
    ("query", "pass_ids"),
    [
        pytest.param("?text=A123*", ["gate-1"], id="text"),
        pytest.param("?text=\u0410123\u0412\u042177", ["gate-1"], id="cyrillic text"),
        pytest.param("?text=3BC7", ["gate-1"], id="some characters"),
        pytest.param("?text=a 123 bc-77 rus", ["gate-1"], id="blanks, a hyphen and the country"),
        pytest.param("?text=\u0410123*\u0420\u0423\u0421", ["gate-1"], id="country in Cyrillic"),
        pytest.param("?part=bc 77 RUS", ["gate-1"], id="part with the country"),
        pytest.param("?text=A123BC78&edits=1", ["gate-1"], id="edits"),
        pytest.param("?part=777&part=BB", ["yard-1"], id="two parts"),
        pytest.param("?camera=gate&camera=yard", ["yard-1", "gate-1"], id="two cameras"),
        pytest.param("?list=residents", ["gate-1"], id="list"),
        pytest.param("?region=77&zone=drive&direction=away", [], id="another direction"),
        pytest.param("?from=2025-06-15&until=2025-06-16", ["yard-1", "gate-1"], id="a day"),
        pytest.param("?from=2025-06-15&until=2025-06-15", ["yard-1", "gate-1"], id="one day"),
        pytest.param("?until=2025-06-14", [], id="the day before"),
        pytest.param("?from=2025-06-15T18:05:41+03:00", [], id="a plus that was not encoded"),
        pytest.param("?until=2025-06-15T15:05:40Z", [], id="until leaves its moment out"),
    ],
)
def test_each_filter_is_used(filled_room: RestRoom, query: str, pass_ids: list[str]) -> None:
    assert ids(filled_room, query) == pass_ids


def test_pages_follow_one_another(filled_room: RestRoom) -> None:
    first = filled_room.get("/v1/passes?limit=1")
    second = filled_room.get(f"/v1/passes?limit=1&cursor={first['cursor']}")
    (link,) = filled_room.client.get("/v1/passes?limit=1&until=2030-01-01").links.values()
    assert link == {"url": f"?limit=1&until=2030-01-01&cursor={first['cursor']}", "rel": "next"}
    assert filled_room.client.get(f"/v1/passes{link['url']}").json() == second
    assert "link" not in filled_room.client.get(f"/v1/passes{link['url']}").headers
    assert [fields["id"] for fields in first["passes"] + second["passes"]] == ["yard-1", "gate-1"]
    assert second["cursor"] == ""


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        pytest.param("?plate=A", "plate: wanted no field of this name, got 'A'", id="unknown"),
        pytest.param("?limit=0", "limit: wanted at least 1, got '0'", id="limit"),
        pytest.param("?limit=1&limit=2", "limit: wanted it once", id="twice"),
        pytest.param("?from=yesterday", "from: .*wanted an RFC 3339 time", id="time"),
        pytest.param(
            "?from=2025-02-30", "from: wanted a day and a time that exist", id="no such day"
        ),
        pytest.param("?cursor=1_x", "cursor: ", id="cursor"),
        pytest.param("?cursor=1e_5", "cursor: wanted one of a page", id="no number"),
        pytest.param("?text=A_1", "text: wanted at most 32 letters", id="text"),
        pytest.param("?edits=1", "text: wanted one for 1 edits", id="edits of nothing"),
        pytest.param("?direction=up", "direction: ", id="direction"),
    ],
)
def test_a_wrong_query_is_told(room: RestRoom, query: str, detail: str) -> None:
    answer = room.client.get(f"/v1/passes{query}")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert re.search(detail, answer.json()["detail"])


def test_a_single_pass_has_its_readings(filled_room: RestRoom) -> None:
    fields = filled_room.get("/v1/passes/gate-1")
    assert [reading["is_best"] for reading in fields["readings"]] == [False, True]
    assert fields["readings"][1]["xyxy"] == [10.0, 20.0, 110.0, 45.0]
    assert fields["openings"] == []
    assert fields["lists"][0]["list"] == "residents"


def test_pictures_are_private_and_kept_by_browsers(filled_room: RestRoom) -> None:
    crop = filled_room.client.get("/v1/passes/gate-1/crop.jpg")
    assert crop.content == b"crop gate-1"
    assert crop.headers["content-type"] == "image/jpeg"
    assert crop.headers["cache-control"] == "private, no-cache"
    assert filled_room.client.get("/v1/passes/gate-1/frame.jpg").content == b"frame gate-1"
    again = filled_room.client.get(
        "/v1/passes/gate-1/crop.jpg", headers={"if-none-match": crop.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["/no", "/no/crop.jpg", "/yard-1/side.jpg", "?list=guests", "?format=csv&list=guests"],
)
def test_what_is_not_there_is_told(filled_room: RestRoom, path: str) -> None:
    assert filled_room.client.get(f"/v1/passes{path}").status_code == 404


@pytest.mark.parametrize(
    ("query", "by", "count"),
    [
        ("?offset_minutes=180", "hour", {"day": "2025-06-15", "hour": 18, "count": 2}),
        ("?by=camera&camera=gate", "camera", {"camera": "gate", "count": 1}),
    ],
)
def test_counts_by_hour_and_camera(
    filled_room: RestRoom, query: str, by: str, count: dict[str, object]
) -> None:
    counts = filled_room.get(f"/v1/passes/counts{query}")
    assert counts == {"by": by, "counts": [count], "cursor": ""}


@pytest.fixture
def small_pages(filled_room: RestRoom, monkeypatch: pytest.MonkeyPatch) -> RestRoom:
    """Return a room with seven passes, whose files are written three passes at a time."""
    monkeypatch.setattr(csv_export, "MAX_PAGE", 3)
    filled_room.store.write([make_event(f"more-{number}") for number in range(5)], [])
    return filled_room


@pytest.mark.parametrize("how", [{"path": "?format=csv"}, {"accept": "text/csv"}])
def test_a_csv_file_has_all_pages(small_pages: RestRoom, how: dict[str, str]) -> None:
    headers = {"accept": how.get("accept", "*/*"), "x-reason": "case 7"}
    answer = small_pages.client.get("/v1/passes" + how.get("path", ""), headers=headers)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "passes.csv" in answer.headers["content-disposition"]
    rows = [*csv.DictReader(io.StringIO(answer.text))]
    assert len({row["id"] for row in rows}) == 7
    (row,) = (row for row in rows if row["id"] == "gate-1")
    assert (row["text"], row["lists"], row["zones"]) == ("A123BC77", "residents", "drive")
    assert (row["speed_kmh"], row["speed_error_kmh"]) == ("36.0", "2.5")
    assert small_pages.kinds()[0] == ("local", "case 7", "export", 7)


def test_an_export_that_ends_early_stands_in_the_audit_with_its_count(
    small_pages: RestRoom,
) -> None:
    def has_page(content: bytearray) -> bool:
        return content.count(b"\n") > 1

    stream = StreamedAnswer(small_pages.client, "/v1/passes?format=csv", is_enough=has_page)
    until(lambda: has_page(stream.content), "a page")
    stream.leave()
    assert small_pages.kinds()[0] == ("local", "-", "export", 3)


@pytest.mark.parametrize(
    ("kind", "zones", "delimiter"),
    [
        ("csv", "'=1+1", ","),
        ("excel", "x;'=1+1 y,'@SUM(1) z\t'-1 v\n'+1", ";"),
    ],
)
def test_names_are_no_formulas_in_a_file(
    room: RestRoom, kind: str, zones: str, delimiter: str
) -> None:
    room.store.write([make_event("gate-1", zones=zones.replace("'", "").split(" "))], [])
    answer = room.client.get(f"/v1/passes?format={kind}")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(io.StringIO(answer.text.lstrip("\ufeff")), delimiter=delimiter)
    assert row["zones"] == zones


def test_a_file_for_excel_has_a_mark_semicolons_and_decimal_commas(filled_room: RestRoom) -> None:
    content = filled_room.client.get("/v1/passes?format=excel").content
    assert content.startswith(b"\xef\xbb\xbfid;camera;")
    row, _ = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=";")
    assert float(row["text_score"].replace(",", ".")) <= 1
    assert "." not in row["text_score"]


def test_a_file_for_people_has_their_times_and_regions(room: RestRoom) -> None:
    events = [
        make_event("gate-1", first_seen_s=NOW_S),
        make_event("clip-1", first_seen_s=3672.0, clock="file"),
    ]
    room.store.write(events, [])
    answer = room.client.get("/v1/passes?format=excel&language=ru&time_zone=Europe/Moscow")
    lines = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")), delimiter=";")
    _, first, second = lines
    local = datetime.fromtimestamp(NOW_S, ZoneInfo("Europe/Moscow"))
    assert first[2] == f"{local:%Y-%m-%d %H:%M:%S}"
    assert second[2] == "1:01:12"
    texts = ["Стандартный номер", "Москва", "к камере"]
    assert [first[7], first[9], first[10]] == texts


def test_each_look_stands_once_in_the_audit_with_who_and_why(filled_room: RestRoom) -> None:
    for _ in range(2):
        filled_room.get("/v1/passes", **{"x-automatic": "true"})  # as a page asks when it is opened
    first = filled_room.get("/v1/passes?limit=1", **{"x-reason": "case 7"})
    filled_room.get(f"/v1/passes?limit=1&cursor={first['cursor']}", **{"x-reason": "case 7"})
    filled_room.get("/v1/passes?text=A123*&reason=case%208")
    filled_room.get("/v1/passes/gate-1?neighbours=true")
    assert filled_room.kinds() == [
        ("local", "-", "get", 1),
        ("local", "case 8", "search", 1),
        ("local", "case 7", "search", 2),
        ("local", "-", "search", 2),
    ]
    searches = filled_room.get("/v1/audit")["searches"]
    assert [entry["query"].get("automatic", False) for entry in searches] == [False] * 3 + [True]


def test_a_pass_has_its_neighbours(filled_room: RestRoom) -> None:
    times = {f"gate-{number}": NOW_S + 60 * number for number in range(2, 20)}
    events = [make_event(name, first_seen_s=at_s) for name, at_s in times.items()]
    filled_room.store.write(events, [])
    neighbours = filled_room.get("/v1/passes/gate-12?neighbours=true")["neighbours"]
    assert [fields["id"] for fields in neighbours] == [
        f"gate-{number}" for number in (*range(17, 12, -1), *range(11, 2, -1))
    ]
    assert filled_room.get("/v1/passes/gate-12")["neighbours"] == []


def test_a_reason_may_be_required(filled_room: RestRoom) -> None:
    filled_room.require_reasons()
    answer = filled_room.client.get("/v1/passes")
    assert (answer.status_code, answer.json()["reason"]) == (400, "parameter")
    assert "X-Reason" in answer.json()["detail"]
    assert filled_room.client.get("/v1/passes?format=csv").status_code == 400
    filled_room.get("/v1/passes", **{"x-reason": "case 7"})
    filled_room.get("/v1/passes/counts")  # shows no plate


def test_methods_of_a_path_are_told_and_head_has_no_body(filled_room: RestRoom) -> None:
    filled_room.enter_as(VIEWER)
    for path, methods in (("passes", {"GET", "HEAD"}), ("lists/residents", {"PUT", "DELETE"})):
        answer = filled_room.client.post(f"/v1/{path}")
        assert answer.status_code == 405
        assert {*answer.headers["allow"].split(", ")} == methods
    for path in ("passes/gate-1", "passes?format=csv"):
        assert filled_room.client.head(f"/v1/{path}").status_code == 200
