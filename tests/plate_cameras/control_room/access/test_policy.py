"""Callers, identified by key, session or address, and callers that are rejected."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request

from orchestrator.serving.gateway.policy import clients
from orchestrator.serving.gateway.policy.clients import Client
from plate_cameras.configuration import ControlRoomSettings, Store
from plate_cameras.control_room.access import policy
from plate_cameras.control_room.access.browser_requests import SENT_HEADERS, is_direct
from plate_cameras.control_room.access.policy import AccessPolicy, Entrance
from plate_cameras.control_room.access.principals import Role
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.factory import open_store
from plate_cameras.store.people import people
from plate_cameras.store.people.people import Person
from plate_cameras.store.people.sessions import Sessions
from tests.plate_cameras.control_room.access.rooms import (
    ANNA,
    HASH,
    OTHERS,
    TESTER,
    Room,
    open_room,
    open_with_keys,
)
from tests.samples import PROJECT

KEY_OF_DESK = {"Authorization": "Bearer desk"}


@pytest.fixture(scope="module")
def loopback_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A room without keys, for tests that change nothing."""
    hosts = ("plates.example",)
    with open_room(tmp_path_factory.mktemp("room"), allowed_hosts=hosts) as opened:
        yield opened


@pytest.fixture(scope="module")
def unchanged_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A room with keys, for tests that change nothing."""
    with open_with_keys(tmp_path_factory.mktemp("room")) as opened:
        yield opened


def asker(room: Room, **headers: str) -> tuple[int, str]:
    """Return the status, and the answer or error, of a request for the caller's identity."""
    answer = room.client.get("/v1/session", headers=headers)
    told = answer.json()
    return answer.status_code, told.get("name") or told["detail"]


def test_a_key_has_its_role_and_groups(unchanged_room: Room) -> None:
    answer = unchanged_room.client.get("/v1/session", headers=KEY_OF_DESK)
    assert answer.json() == {
        "name": "key:desk",
        "role": "viewer",
        "groups": ["north"],
        "csrf": "",
        "via": "key",
    }


def test_a_key_without_a_role_may_only_recognize(unchanged_room: Room) -> None:
    status, said = asker(unchanged_room, authorization="Bearer gate")
    assert (status, said[:28]) == (403, "the key gate has no role; th")
    picture = {"content-type": "image/jpeg", "authorization": "Bearer gate"}
    assert (
        unchanged_room.client.post("/v1/recognize", content=b"", headers=picture).status_code == 400
    )


def test_an_unknown_key_is_refused_even_beside_a_session(room: Room) -> None:
    room.log_in()
    assert asker(room, authorization="Bearer other")[0] == 401


def test_a_viewers_key_may_not_administer(unchanged_room: Room) -> None:
    answer = unchanged_room.client.get("/v1/people", headers=KEY_OF_DESK)
    assert answer.status_code == 403
    assert answer.json()["detail"] == "role: wanted administrator, got viewer"


def test_the_gateways_audit_names_the_person(room: Room) -> None:
    room.log_in()
    room.client.get("/v1/passes")
    assert audited(room) == [("127.0.0.1", 200), ("person:anna", 200)]


BACKGROUND = ("session", "cameras", "cameras/gate", "gates", "gates/openings", "lists")


def test_what_pages_ask_for_all_the_time_is_not_in_the_gateways_audit(room: Room) -> None:
    room.log_in()
    statuses = {room.client.get(f"/v1/{path}").status_code for path in BACKGROUND}
    assert statuses == {200}
    assert room.client.get("/live").status_code == 200
    assert room.client.get("/control/live.js").status_code == 200
    assert room.client.get("/v1/people").status_code == 200
    assert audited(room) == [("127.0.0.1", 200), ("person:anna", 200)]


def test_what_is_refused_to_pages_is_in_the_audit_and_so_are_keys(room: Room) -> None:
    assert room.client.get("/v1/cameras").status_code == 401
    assert room.client.get("/v1/cameras", headers=KEY_OF_DESK).status_code == 200
    assert audited(room) == [("127.0.0.1", 401), ("key:desk", 200)]


def audited(room: Room) -> list[tuple[str, int]]:
    """Return clients and statuses of the gateway's audit."""
    lines = [json.loads(line) for line in room.audit.read_text().splitlines()]
    return [(line["client"], line["status"]) for line in lines]


def test_a_person_may_send_pictures_without_a_key(room: Room) -> None:
    picture: dict[str, Any] = {"content": b"", "headers": {"content-type": "image/jpeg"}}
    assert room.client.post("/v1/recognize", **picture).status_code == 401
    csrf = room.log_in("boris")
    answer = room.client.post("/v1/recognize", **picture)
    assert (answer.status_code, answer.json()["reason"]) == (403, "csrf")
    picture["headers"] |= csrf
    assert room.client.post("/v1/recognize", **picture).status_code == 400  # no picture


def test_where_all_may_send_pictures_a_session_changes_nothing(tmp_path: Path) -> None:
    picture = {"content": b"", "headers": {"content-type": "image/jpeg"}}
    with open_room(tmp_path, http=OTHERS) as room:
        room.log_in("boris")
        assert room.client.post("/v1/recognize", **picture).status_code == 400  # no picture


def test_a_person_may_not_use_other_calls_without_a_key(room: Room) -> None:
    room.log_in()
    assert room.client.get("/v2/models/plate_recognition").status_code == 401


@pytest.mark.parametrize(
    "cookie",
    [
        pytest.param("", id="none"),
        pytest.param("plates_session=", id="empty"),
        pytest.param("plates_session=" + "A" * 43, id="unknown"),
        pytest.param("plates_session=' or 1=1 --", id="no token"),
        pytest.param("plates_session=" + "A" * 8000, id="long"),
    ],
)
def test_a_cookie_without_a_session_is_nobodys(unchanged_room: Room, cookie: str) -> None:
    assert asker(unchanged_room, cookie=cookie)[0] == 401


def test_a_role_changes_at_once(room: Room) -> None:
    room.log_in()
    room.store.people.change(Person("anna", "viewer"), TESTER)
    assert room.client.get("/v1/session").json()["role"] == "viewer"
    assert room.client.get("/v1/people").status_code == 403


def test_everybody_on_loopback_administers_without_keys(loopback_room: Room) -> None:
    answer = loopback_room.client.get("/v1/session").json()
    who = (answer["name"], answer["role"], answer["via"])
    assert who == ("local", "administrator", "local")
    assert loopback_room.client.get("/v1/people").status_code == 200


def test_a_session_goes_before_the_place(tmp_path: Path) -> None:
    with open_room(tmp_path) as room:
        room.log_in("boris")
        assert asker(room) == (200, "boris")
        assert room.client.get("/v1/people").status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("dest", ["document", "iframe"])
@pytest.mark.parametrize(
    "path", ["/v1/passes?text=A123BC77&reason=x", "/v1/plates/A123BC77/export"]
)
def test_a_link_of_another_site_searches_nothing_in_the_readers_name(
    loopback_room: Room, path: str, dest: str, site: str
) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": dest}
    answer = loopback_room.client.get(path, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (403, "origin")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"x-forwarded-for": "203.0.113.9"}, id="X-Forwarded-For"),
        pytest.param({"forwarded": "for=203.0.113.9"}, id="Forwarded"),
        pytest.param({"x-real-ip": "203.0.113.9"}, id="X-Real-IP"),
        pytest.param({"x-forwarded-port": "443"}, id="X-Forwarded-Port"),
        pytest.param({"cf-connecting-ip": "203.0.113.9"}, id="CF-Connecting-IP"),
        pytest.param({"via": "1.1 proxy"}, id="Via"),
        pytest.param({"x-cluster-client-ip": "203.0.113.9"}, id="X-Cluster-Client-IP"),
        pytest.param({"fly-client-ip": "203.0.113.9"}, id="Fly-Client-IP"),
        pytest.param({"x-envoy-external-address": "203.0.113.9"}, id="X-Envoy-External-Address"),
        pytest.param({"x-proxy-of-tomorrow": "203.0.113.9"}, id="header that nobody knows"),
        pytest.param({"host": "plates.example"}, id="name of a site"),
    ],
)
def test_a_request_through_a_proxy_is_not_local(
    loopback_room: Room, headers: dict[str, str]
) -> None:
    assert asker(loopback_room)[0] == 200
    assert asker(loopback_room, **headers)[0] == 401


def test_a_browser_with_all_its_headers_is_local(loopback_room: Room) -> None:
    headers = {
        "accept-encoding": "gzip, deflate, br, zstd",
        "accept-language": "ru,en;q=0.5",
        "cache-control": "no-cache",
        "content-type": "application/json",
        "dnt": "1",
        "if-none-match": "a",
        "origin": "http://localhost:8000",
        "pragma": "no-cache",
        "priority": "u=4",
        "referer": "http://localhost:8000/live",
        "sec-ch-ua-platform": "Linux",
        "sec-fetch-dest": "empty",
        "sec-fetch-mode": "cors",
        "sec-fetch-site": "same-origin",
        "sec-gpc": "1",
        "te": "trailers",
        "x-csrf-token": "",
    }
    assert asker(loopback_room, **headers) == (200, "local")


def test_headers_that_our_pages_and_clients_set_are_no_proxys() -> None:
    """These names also appear in the pages' scripts, in the client and in the API's description."""
    folders = (
        "orchestrator/serving/gateway/http/page",
        "orchestrator/client",
        "plate_cameras/control_room",
    )
    texts = [
        file.read_text(encoding="utf-8")
        for folder in folders
        for file in (PROJECT / folder).rglob("*.*")
        if file.suffix in {".js", ".py"}
    ]
    named = {
        name.lower()
        for text in texts
        for name in re.findall(r"[\"'`](x-[a-z-]+)[\"'`]", text, re.I)
    }
    answered = {"x-accel-buffering", "x-content-type-options", "x-codesamples"}
    assert named - answered >= {"x-reason", "x-csrf-token"}
    assert [name for name in named - answered if not SENT_HEADERS.fullmatch(name)] == []


def test_a_request_by_http_1_0_is_not_local() -> None:
    """By default, nginx forwards requests in this form, and adds no other headers."""
    scope: dict[str, Any] = {"type": "http", "headers": [(b"host", b"127.0.0.1:8000")]}
    assert is_direct(Request({**scope, "http_version": "1.1"}))
    assert not is_direct(Request({**scope, "http_version": "1.0"}))


def test_strangers_do_not_administer_a_gateway_that_wants_no_keys(tmp_path: Path) -> None:
    with open_room(tmp_path, http=OTHERS) as room:
        assert asker(room) == (401, "wanted a person who has logged in, or a key with a role")
        room.log_in()
        assert asker(room) == (200, "anna")


def test_a_gateway_without_people_says_how_to_add_one(tmp_path: Path) -> None:
    with open_room(tmp_path, people=(), http=OTHERS) as room:
        status, said = asker(room)
        assert status == 403
        assert "plates people add CAMERAS.toml NAME --role administrator" in said


def test_roles_have_the_same_names_everywhere() -> None:
    names = tuple(role.name.lower() for role in Role if role is not Role.NOBODY)
    assert names == clients.ROLES == ("sender", *people.ROLES)


def test_a_database_that_is_away_is_told_and_pictures_without_cookies_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_room(tmp_path, http=OTHERS) as room:
        room.log_in()
        monkeypatch.setattr(Sessions, "find", fail)
        assert asker(room)[0] == 503
        room.client.cookies.clear()
        picture = {"content": b"", "headers": {"content-type": "image/jpeg"}}
        assert room.client.post("/v1/recognize", **picture).status_code == 400  # no picture


@pytest.mark.parametrize("method", ["digests", "find"])
def test_a_database_that_hangs_stops_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(policy, "TIMEOUT_S", 1.0)
    with open_room(tmp_path, http=OTHERS) as room:
        room.log_in()
        monkeypatch.setattr(Sessions, method, lambda *_: goes_on.wait(20) and None)
        if method == "digests":
            room.client.cookies.clear()
            room.client.cookies.set("plates_session", "A" * 43)
        picture = {"content": b"", "headers": {"content-type": "image/jpeg"}}
        assert room.client.post("/v1/recognize", **picture).status_code == 400  # no picture
        assert asker(room)[0] == 503
        goes_on.set()


def fail(_sessions: Sessions, _token: str) -> None:
    raise StoreUnavailable("connection refused")


class Caller:
    """A request that is still answered, with what `AccessPolicy.is_current` needs."""

    def __init__(self, client: Client, headers: dict[str, str], service: object = None) -> None:
        self.call = SimpleNamespace(client=client)
        self.http = SimpleNamespace(headers=Headers(headers))
        self.service = service


def test_a_long_answer_learns_that_its_session_has_ended(tmp_path: Path) -> None:
    with closing(open_store(Store(), tmp_path)) as store:
        store.people.add(ANNA, HASH, TESTER)
        token = "A" * 43
        store.sessions.begin("anna", HASH, token, 3600)
        access = AccessPolicy(Entrance(True, True, False), store, ControlRoomSettings())
        client = Client("person:anna", 1, 1.0, role="administrator")
        caller = Caller(client, {"cookie": f"plates_session={token}", "host": "localhost"})
        assert asyncio.run(access.is_current(caller))
        store.people.change(replace(ANNA, role="viewer"), TESTER)
        assert not asyncio.run(access.is_current(caller))  # another role
        store.people.remove("anna", TESTER)
        assert not asyncio.run(access.is_current(caller))
        access.close()
