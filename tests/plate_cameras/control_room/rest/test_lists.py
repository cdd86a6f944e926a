"""Lists and entries over HTTP."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import pytest

from plate_cameras.store.errors import ChangedMeanwhile
from plate_cameras.store.lists import list_file
from plate_cameras.store.lists.file_contents import MAX_FILE_BYTES
from tests.plate_cameras.control_room.rest.rooms import EDITOR, OF_THE_EAST, VIEWER, RestRoom

LIST = "/v1/lists/residents"
CSV = {"content-type": "text/csv"}


def send_file(room: RestRoom, content: str | bytes, query: str = "", kind: str = "text/csv") -> Any:
    return room.client.post(
        f"{LIST}/entries{query}", content=content, headers={"content-type": kind}
    )


def entries_of(room: RestRoom, query: str = "") -> list[dict[str, Any]]:
    return room.get(f"{LIST}/entries{query}")["entries"]


def texts_of(room: RestRoom, query: str = "") -> list[str]:
    return [entry["text"] for entry in entries_of(room, query)]


def test_lists_tell_their_entries_and_cameras(filled_room: RestRoom) -> None:
    fields = {"name": "residents", "note": "house 5", "retention_days": None, "entries": 1}
    lists = [fields | {"cameras": ["gate", "yard"]}]
    assert filled_room.get("/v1/lists") == {"lists": lists, "cursor": ""}
    filled_room.enter_as(OF_THE_EAST)
    assert filled_room.get("/v1/lists")["lists"][0]["cameras"] == ["gate"]


@pytest.mark.parametrize("name", ["guests", "night/entries/shift"])
def test_a_list_is_made_changed_and_deleted(room: RestRoom, name: str) -> None:
    path = f"/v1/lists/{quote(name, safe='')}"
    plate_list = room.client.put(path, json={"note": "hotel"}).json()
    empty = {"note": "hotel", "retention_days": None, "entries": 0, "cameras": []}
    assert plate_list == {"name": name, **empty}
    plate_list = room.client.put(path, json={"retention_days": 7}).json()
    assert (plate_list["note"], plate_list["retention_days"]) == ("", 7.0)
    assert room.client.put(f"{path}/entries/A123BC77", json={}).status_code == 200
    assert [entry["text"] for entry in room.get(f"{path}/entries")["entries"]] == ["A123BC77"]
    assert room.client.delete(f"{path}/entries/A123BC77").status_code == 204
    assert [room.client.delete(path).status_code for _ in range(2)] == [204, 404]
    assert room.get("/v1/lists") == {"lists": [], "cursor": ""}


@pytest.mark.parametrize(
    ("until", "end"),
    [
        pytest.param("2025-06-16T12:00:00+03:00", "2025-06-16T09:00:00.000Z", id="a moment"),
        pytest.param("2025-06-16", "2025-06-17T00:00:00.000Z", id="the end of a day"),
        pytest.param("9999-12-31", "9999-12-31T23:59:59.000Z", id="the last day"),
    ],
)
def test_an_entry_is_put_and_removed(filled_room: RestRoom, until: str, end: str) -> None:
    body = {"note": "guest", "valid_from": "2025-06-15", "valid_until": until, "edits": 1}
    entry = filled_room.client.put(f"{LIST}/entries/b777bb 77", json=body).json()
    times = {"valid_from": "2025-06-15T00:00:00.000Z", "valid_until": end}
    assert entry == body | {"text": "B777BB77", **times}
    assert entry in entries_of(filled_room)
    path = f"{LIST}/entries/B777BB77"
    assert [filled_room.client.delete(path).status_code for _ in range(2)] == [204, 404]


def test_entries_are_imported_and_exported(filled_room: RestRoom) -> None:
    answer = send_file(filled_room, "\ufefftext,note\nC001CC77,\nB777BB77,guest\n".encode())
    assert (answer.json(), len(entries_of(filled_room))) == ({"imported": 2}, 3)
    answer = send_file(filled_room, "text\nC001CC77\n", "?replace=true")
    assert answer.json() == {"imported": 1}
    answer = filled_room.client.get(f"{LIST}/entries?format=csv", headers={"x-reason": "backup"})
    assert answer.text == "text,note,valid_from,valid_until,edits\nC001CC77,,,,0\n"
    assert filled_room.kinds()[0] == ("local", "backup", "export list", 1)


def test_a_list_for_excel_can_be_imported_again(filled_room: RestRoom) -> None:
    note = {"note": "x;=1+1, +7 921\n@SUM(1)"}
    assert filled_room.client.put(f"{LIST}/entries/B777BB77", json=note).status_code == 200
    entries = entries_of(filled_room)
    content = filled_room.client.get(f"{LIST}/entries?format=excel").content
    assert content.startswith(b"\xef\xbb\xbftext;note;valid_from;valid_until;edits\n")
    assert b"x;'=1+1,' +7 921\n'@SUM(1)" in content
    assert send_file(filled_room, content, "?replace=true").json() == {"imported": len(entries)}
    assert entries_of(filled_room) == entries


def test_entries_come_in_pages_and_by_a_part(filled_room: RestRoom) -> None:
    send_file(filled_room, "text,note\nB777BB77,Дом 5\nC001CC77,дом 7\n".encode())
    first = filled_room.get(f"{LIST}/entries?limit=2")
    assert [entry["text"] for entry in first["entries"]] == ["A123BC77", "B777BB77"]
    second = filled_room.get(f"{LIST}/entries?limit=2&cursor={first['cursor']}")
    assert ([entry["text"] for entry in second["entries"]], second["cursor"]) == (["C001CC77"], "")
    houses = filled_room.get(f"{LIST}/entries?part=дом&limit=1")
    assert [entry["text"] for entry in houses["entries"]] == ["B777BB77"]
    assert houses["cursor"] == "B777BB77"


def test_a_long_list_is_exported_in_parts(filled_room: RestRoom) -> None:
    texts = [f"B{at:04}77" for at in range(1500)]
    send_file(filled_room, "\n".join(["text", *texts, ""]), "?replace=true")
    answer = filled_room.client.get(f"{LIST}/entries?format=csv")
    assert [line.split(",")[0] for line in answer.text.splitlines()] == ["text", *texts]
    assert filled_room.kinds()[0] == ("local", "-", "export list", 1500)


def test_an_import_that_another_one_overtakes_is_a_conflict(
    filled_room: RestRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail = Mock(side_effect=ChangedMeanwhile("another import has begun"))
    monkeypatch.setattr(filled_room.store.lists, "import_csv", fail)
    answer = send_file(filled_room, "text\n")
    assert (answer.status_code, answer.json()["reason"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        pytest.param(b"text\nA_1\n", "text/csv", 400, id="a text that is none"),
        pytest.param(b"text\nA1\n", "application/json", 415, id="another type"),
        pytest.param(b"text\n" + b"A1\n" * 4, "text/csv", 400, id="too many rows"),
        pytest.param(b"x" * (MAX_FILE_BYTES + 1), "text/csv", 413, id="too many bytes"),
    ],
)
def test_a_wrong_file_changes_nothing(
    filled_room: RestRoom, content: bytes, kind: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_file, "MAX_FILE_ROWS", 3)
    assert send_file(filled_room, content, kind=kind).status_code == status
    assert texts_of(filled_room) == ["A123BC77"]


@pytest.mark.parametrize(
    ("text", "body", "detail"),
    [
        ("B777BB77", b"{", "body: "),
        ("B777BB77", b'{"plate": "A"}', "plate: wanted no field of this name, got 'A'"),
        ("B777BB77", b'{"edits": 3}', "edits: wanted at most 2, got 3"),
        ("B777BB77", b'{"valid_from": "soon"}', "wanted an RFC 3339 time"),
        ("B777BB77", b'{"valid_from": "0001-01-01T00:00+14:00"}', "valid_from: "),
        ("B777BB77", b'{"valid_until": "9999-12-31T23:59-14:00"}', "valid_until: "),
        ("B777BB77", b'{"valid_from": "2027-02-01", "valid_until": "2027-01-01"}', "valid_until: "),
        ("AO12BC77", b"{}", "text: wanted a plate's text"),
    ],
)
def test_a_wrong_entry_is_told_and_changes_nothing(
    filled_room: RestRoom, text: str, body: bytes, detail: str
) -> None:
    headers = {"content-type": "application/json"}
    answer = filled_room.client.put(f"{LIST}/entries/{text}", content=body, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (400, "parameter")
    assert detail in answer.json()["detail"]
    assert texts_of(filled_room) == ["A123BC77"]


def test_roles_limit_what_may_be_changed(filled_room: RestRoom) -> None:
    filled_room.enter_as(VIEWER)
    filled_room.get(f"{LIST}/entries")
    answer = filled_room.client.put(f"{LIST}/entries/B777BB77", json={})
    assert (answer.status_code, answer.json()["reason"]) == (403, "role")
    assert answer.json()["detail"] == "role: wanted editor, got viewer"

    filled_room.enter_as(EDITOR)
    assert filled_room.client.put(f"{LIST}/entries/B777BB77", json={}).status_code == 200
    assert filled_room.client.put(LIST, json={}).status_code == 403
    assert filled_room.client.delete(LIST).status_code == 403


def test_each_change_stands_in_the_audit(room: RestRoom) -> None:
    client, areas, entry = room.client, "/v1/cameras/gate/areas", f"{LIST}/entries/A123BC77"
    client.headers["x-reason"] = "moved in"
    client.put(LIST, json={"note": "house 5"})
    client.put(entry, json={})
    send_file(room, "text\nB777BB77\nC001CC77\n")
    client.delete(entry)
    client.put(areas, json={})
    client.delete(areas)
    client.delete(LIST)
    kinds = [("save list", 1), ("put entry", 1), ("import list", 2), ("remove entry", 1)]
    kinds += [("draw areas", 1), ("erase areas", 1), ("delete list", 1)]
    assert room.kinds()[::-1] == [("local", "moved in", *kind) for kind in kinds]
    second = room.get("/v1/audit")["searches"][-2]
    assert second["query"] == {"list_name": "residents", "text": "A123BC77"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", LIST),
        ("DELETE", LIST),
        ("PUT", f"{LIST}/entries/B777BB77"),
        ("DELETE", f"{LIST}/entries/A123BC77"),
        ("POST", f"{LIST}/entries"),
    ],
)
def test_a_list_of_other_groups_cameras_stays_as_it_is(
    filled_room: RestRoom, method: str, path: str
) -> None:
    filled_room.enter_as(OF_THE_EAST)
    body = {"content": "text\n", "headers": CSV} if method == "POST" else {"json": {}}
    answer = filled_room.client.request(method, path, **body)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "list residents: cameras of other groups use it, too"


def test_doubtful_texts_are_taken_when_the_caller_says_so(filled_room: RestRoom) -> None:
    answer = filled_room.client.put(f"{LIST}/entries/HORSE", json={"accept_doubtful": True})
    assert (answer.status_code, answer.json()["text"]) == (200, "HORSE")
    assert filled_room.client.delete(f"{LIST}/entries/horse").status_code == 204
    content = "text\nAO12BC77\nHORSE\n"
    answer = send_file(filled_room, content)
    assert answer.status_code == 400
    assert answer.json()["detail"].endswith("accept doubtful texts to take it")
    assert send_file(filled_room, content, "?accept_doubtful=true").json() == {"imported": 2}


def test_an_import_is_looked_at_first(filled_room: RestRoom) -> None:
    before = entries_of(filled_room)
    rows = b"text,note\nM456OP199,new\nA123BC77,another\nAO12BC77,\n,nobody\n"
    preview = filled_room.client.post(
        f"{LIST}/preview?replace=true", content=rows, headers=CSV
    ).json()
    assert [preview[name] for name in ("rows", "wrong_rows", "doubtful_rows")] == [4, 1, 1]
    assert (preview["wrong"][0]["line"], preview["doubtful"][0]["line"]) == (5, 4)
    assert "A012BC77" in preview["doubtful"][0]["problem"]
    assert [entry["text"] for entry in preview["entries"]] == ["M456OP199", "A123BC77", "AO12BC77"]
    assert entries_of(filled_room) == before


def test_an_empty_file_is_imported_when_it_is_filled_in_with_days_of_its_zone(
    filled_room: RestRoom,
) -> None:
    template = filled_room.client.get("/v1/list-template?language=ru").content
    content = template + b"M456OP199;flat 7;;31.12.2027\r\n"
    answer = send_file(filled_room, content, "?time_zone=Asia/Vladivostok")
    assert answer.json() == {"imported": 1}
    (entry,) = entries_of(filled_room, "?part=M456")
    assert (entry["note"], entry["valid_until"]) == ("flat 7", "2027-12-31T14:00:00.000Z")


@pytest.mark.parametrize(
    ("query", "content", "detail"),
    [
        ("", b"colour\nred\n", "columns:"),
        *(
            (f"?time_zone={zone}", b"text\nA123BC77\n", "time_zone:")
            for zone in ("Moscow", "..%2Fetc", "%00", "Europe", "a" * 300)
        ),
    ],
)
def test_a_preview_of_another_file_or_zone_is_told(
    filled_room: RestRoom, query: str, content: bytes, detail: str
) -> None:
    answer = filled_room.client.post(f"{LIST}/preview{query}", content=content, headers=CSV)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(detail)
