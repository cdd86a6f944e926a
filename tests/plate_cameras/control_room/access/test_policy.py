"""Callers, identified by key, session or address, and callers that are rejected."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.requests import Request

from orchestrator.serving.gateway.policy import clients
from plate_cameras.control_room.access import policy
from plate_cameras.control_room.access.browser_requests import SENT_HEADERS, is_direct
from plate_cameras.control_room.access.principals import Role
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.people import people
from plate_cameras.store.people.people import Person
from plate_cameras.store.people.sessions import Sessions
from tests.plate_cameras.control_room.access.rooms import OTHERS, TESTER, HttpRoom, open_room
from tests.samples import PROJECT

KEY_OF_DESK = {"Authorization": "Bearer desk"}


@pytest.fixture(scope="module")
def loopback_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpRoom]:
    """A room without keys, for tests that change nothing."""
    hosts = ("plates.example",)
    with open_room(tmp_path_factory.mktemp("room"), allowed_hosts=hosts) as room:
        yield room


def asker(room: HttpRoom, **headers: str) -> tuple[int, str]:
    """Return the status, and the answer or error, of a request for the caller's identity."""
    answer = room.client.get("/v1/session", headers=headers)
    document = answer.json()
    return answer.status_code, document.get("name") or document["detail"]


def test_a_key_has_its_role_and_groups_and_may_do_no_more(unchanged_room: HttpRoom) -> None:
    client = unchanged_room.client
    answer = client.get("/v1/session", headers=KEY_OF_DESK).json()
    assert answer == {
        "name": "key:desk",
        "role": "viewer",
        "groups": ["north"],
        "csrf": "",
        "via": "key",
    }
    assert client.get("/v1/people", headers=KEY_OF_DESK).status_code == 403
    status, detail = asker(unchanged_room, authorization="Bearer gate")
    assert (status, detail[:28]) == (403, "the key gate has no role; th")
    assert unchanged_room.recognize(authorization="Bearer gate")[0] == 400


def test_an_unknown_key_is_refused_even_beside_a_session(room: HttpRoom) -> None:
    room.log_in()
    assert asker(room, authorization="Bearer other")[0] == 401


def test_the_audit_names_callers_and_leaves_out_what_pages_ask_for_all_the_time(
    room: HttpRoom,
) -> None:
    client, background = room.client, ("session", "cameras", "cameras/gate", "gates", "lists")
    assert client.get("/v1/cameras").status_code == 401
    assert client.get("/v1/cameras", headers=KEY_OF_DESK).status_code == 200
    room.log_in()
    paths = [f"/v1/{path}" for path in (*background, "gates/openings")]
    paths += ["/live", "/control/live.js", "/v1/people"]
    assert {client.get(path).status_code for path in paths} == {200}
    lines = [json.loads(line) for line in room.audit.read_text().splitlines()]
    assert [(line["client"], line["status"]) for line in lines] == [
        ("127.0.0.1", 401),
        ("key:desk", 200),
        ("127.0.0.1", 200),
        ("person:anna", 200),
    ]


def test_a_person_may_send_pictures_without_a_key_and_nothing_else(room: HttpRoom) -> None:
    assert room.recognize()[0] == 401
    csrf = room.log_in("boris")
    assert room.recognize() == (403, "csrf")
    assert room.recognize(**csrf)[0] == 400
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
def test_a_cookie_without_a_session_is_nobodys(unchanged_room: HttpRoom, cookie: str) -> None:
    assert asker(unchanged_room, cookie=cookie)[0] == 401


def test_a_role_changes_at_once(room: HttpRoom) -> None:
    room.log_in()
    room.store.people.change(Person("anna", "viewer"), TESTER)
    assert room.client.get("/v1/session").json()["role"] == "viewer"
    assert room.client.get("/v1/people").status_code == 403


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
    loopback_room: HttpRoom, path: str, dest: str, site: str
) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": dest}
    answer = loopback_room.client.get(path, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (403, "origin")


FORWARDING = ("x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-port", "via")
FORWARDING += ("cf-connecting-ip", "x-cluster-client-ip", "fly-client-ip")
FORWARDING += ("x-envoy-external-address", "x-proxy-of-tomorrow")
"""Headers of proxies. Nobody knows the last one."""


@pytest.mark.parametrize("name", [*FORWARDING, "host"])
def test_a_request_through_a_proxy_is_not_local(loopback_room: HttpRoom, name: str) -> None:
    assert asker(loopback_room, **{name: "plates.example"})[0] == 401


def test_a_browser_on_loopback_administers_without_keys(loopback_room: HttpRoom) -> None:
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
    for request_headers in ({}, headers):
        answer = loopback_room.client.get("/v1/session", headers=request_headers).json()
        who = (answer["name"], answer["role"], answer["via"])
        assert who == ("local", "administrator", "local")
    assert loopback_room.client.get("/v1/people").status_code == 200


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
    names = {
        name.lower()
        for text in texts
        for name in re.findall(r"[\"'`](x-[a-z-]+)[\"'`]", text, re.I)
    }
    of_answers = {"x-accel-buffering", "x-content-type-options", "x-codesamples"}
    assert names - of_answers >= {"x-reason", "x-csrf-token"}
    assert [name for name in names - of_answers if not SENT_HEADERS.fullmatch(name)] == []


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
        assert room.recognize()[0] == 400  # all may send pictures; a session changes nothing


def test_a_gateway_without_people_says_how_to_add_one(tmp_path: Path) -> None:
    with open_room(tmp_path, people=(), http=OTHERS) as room:
        status, detail = asker(room)
        assert status == 403
        assert "plates people add CAMERAS.toml NAME --role administrator" in detail


def test_roles_have_the_same_names_everywhere() -> None:
    names = tuple(role.name.lower() for role in Role if role is not Role.NOBODY)
    assert names == clients.ROLES == ("sender", *people.ROLES)


def test_a_database_that_is_away_is_told_and_pictures_without_cookies_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_room(tmp_path, http=OTHERS) as room:
        room.log_in()
        away = Mock(side_effect=StoreUnavailable("connection refused"))
        monkeypatch.setattr(Sessions, "find", away)
        assert asker(room)[0] == 503
        room.client.cookies.clear()
        assert room.recognize()[0] == 400


@pytest.mark.parametrize("method", ["digests", "find"])
def test_a_database_that_hangs_stops_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    goes_on = threading.Event()
    with open_room(tmp_path, http=OTHERS) as room:
        room.log_in()
        monkeypatch.setattr(policy, "TIMEOUT_S", 0.5)
        monkeypatch.setattr(Sessions, method, lambda *_: goes_on.wait(20) and None)
        if method == "digests":
            room.client.cookies.clear()
            room.client.cookies.set("plates_session", "A" * 43)
        assert room.recognize()[0] == 400
        assert asker(room)[0] == 503
        goes_on.set()
