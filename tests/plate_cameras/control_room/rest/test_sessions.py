"""Logging in and out over HTTP, and requests that other sites make in a person's browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from plate_cameras.control_room.access.logins import INTERVAL_S, limits_of
from plate_cameras.store.people.people import Person
from tests.plate_cameras.control_room.access.rooms import (
    ANNA,
    BORIS,
    OTHERS,
    PASSWORD,
    HttpRoom,
    open_room,
    write_key_tables,
)

RIGHT = {"name": "anna", "password": PASSWORD}
WRONG = {"name": "anna", "password": "wrong horse battery"}
AnnasSession = tuple[HttpRoom, dict[str, str]]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[HttpRoom]:
    """A room that can be reached from other machines."""
    with open_room(tmp_path, http=OTHERS) as new_room:
        yield new_room


@pytest.fixture(scope="module")
def open_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnnasSession]:
    """A room with a session of Anna; tests must not end or change it."""
    people = (ANNA, BORIS, Person("david", "viewer", is_disabled=True))
    options = {"http": OTHERS, "cors_origins": ("https://shop.example",), "people": people}
    with open_room(tmp_path_factory.mktemp("room"), **options) as room:
        yield room, room.log_in()


def log_in(room: HttpRoom, credentials: dict[str, str] = RIGHT, **headers: str) -> int:
    """Return the status of a login."""
    return int(room.client.post("/v1/session", json=credentials, headers=headers).status_code)


def fail_often(room: HttpRoom, which: int, times: float, address: str = "127.0.0.1") -> None:
    """Use up attempts: of Anna's name (0), or of the address (-1)."""
    limit = limits_of("anna", address)[which]
    room.store.login_attempts.take([replace(limit, interval_s=times * INTERVAL_S)])


def test_a_person_logs_in_and_out(room: HttpRoom) -> None:
    answer = room.client.post("/v1/session", json=RIGHT | {"name": " Anna"})
    session = answer.json()
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    anna = {"name": "anna", "role": "administrator", "groups": [], "via": "session"}
    assert session == {**anna, "csrf": session["csrf"]}
    assert room.client.get("/v1/session").json() == session
    token = room.client.cookies["plates_session"]
    goodbye = room.client.delete("/v1/session", headers={"X-CSRF-Token": session["csrf"]})
    assert goodbye.status_code == 204
    assert not room.client.cookies
    for headers in ({}, {"cookie": f"plates_session={token}"}):  # the session ends, too
        assert room.client.get("/v1/session", headers=headers).status_code == 401


def test_a_login_ends_the_session_that_the_browser_had(room: HttpRoom) -> None:
    room.log_in()
    before = room.client.cookies["plates_session"]
    room.log_in("boris")
    assert room.store.sessions.find(before) is None
    assert room.client.get("/v1/session").json()["name"] == "boris"


@pytest.mark.parametrize(
    ("origin", "name", "more"),
    [
        pytest.param("http://localhost:8000", "plates_session", {}, id="plain"),
        pytest.param(
            "https://localhost:8000", "__Host-plates_session", {"secure": True}, id="TLS of a proxy"
        ),
    ],
)
def test_scripts_do_not_see_the_cookie_and_other_sites_do_not_send_it(
    room: HttpRoom, origin: str, name: str, more: dict[str, object]
) -> None:
    answer = room.client.post("/v1/session", json=RIGHT, headers={"origin": origin})
    ((cookie, morsel),) = SimpleCookie(answer.headers["set-cookie"]).items()
    attributes = {"httponly": True, "samesite": "strict", "path": "/", "max-age": str(12 * 3600)}
    assert cookie == name
    assert {key: value for key, value in morsel.items() if value} == {**attributes, **more}


def test_with_tls_a_cookie_without_the_prefix_does_not_count(tmp_path: Path) -> None:
    certificate = tmp_path / "site.pem"
    url = "https://localhost:8000"
    with open_room(tmp_path, url=url, http=OTHERS, certificate=certificate) as room:
        room.log_in()
        token = room.client.cookies["__Host-plates_session"]
        assert room.client.get("/v1/session").status_code == 200
        room.client.cookies.clear()
        headers = {"cookie": f"plates_session={token}"}
        assert room.client.get("/v1/session", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "credentials",
    [
        pytest.param(WRONG, id="password"),
        pytest.param({"name": "clara", "password": PASSWORD}, id="name"),
        pytest.param({"name": "david", "password": PASSWORD}, id="disabled person"),
        pytest.param({"name": "", "password": ""}, id="nothing"),
        pytest.param({"name": "a" * 200, "password": "b" * 200}, id="long"),
    ],
)
def test_a_wrong_login_does_not_say_what_is_wrong(
    open_session: AnnasSession, credentials: dict[str, str]
) -> None:
    room, _ = open_session
    answer = room.client.post("/v1/session", json=credentials)
    assert answer.status_code == 401
    assert answer.json()["detail"] == "name or password: wanted those of a person, got others"
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        pytest.param(b"{}", "application/json", 400, id="nothing"),
        pytest.param(b'{"name": 1, "password": "x"}', "application/json", 400, id="number"),
        pytest.param(b"name=anna", "application/json", 400, id="form as JSON"),
        pytest.param(b'{"name": "anna"}', "text/plain", 415, id="text"),
        pytest.param(b"name=anna", "application/x-www-form-urlencoded", 415, id="form"),
        pytest.param(b" " * 20_000, "application/json", 413, id="large"),
        pytest.param(b'{"name": "a", "password": ["secret"]}', "application/json", 400, id="list"),
        pytest.param(b'{"name": "a", "pass": "secret"}', "application/json", 400, id="field"),
    ],
)
def test_a_body_that_is_no_login_is_rejected_and_not_repeated(
    open_session: AnnasSession, body: bytes, content_type: str, status: int
) -> None:
    room, _ = open_session
    headers = {"content-type": content_type}
    answer = room.client.post("/v1/session", content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text


def test_many_failures_of_a_name_have_to_wait(room: HttpRoom) -> None:
    fail_often(room, 0, 8)
    answers = [room.client.post("/v1/session", json=WRONG) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= INTERVAL_S
    assert log_in(room) == 429
    assert log_in(room, {"name": "boris", "password": PASSWORD}) == 200


@pytest.mark.parametrize(
    ("proxies", "headers", "status"),
    [
        pytest.param((), {}, 429, id="an address"),
        pytest.param((), {"x-forwarded-for": "203.0.113.1"}, 429, id="told by nobody trusted"),
        pytest.param(("127.0.0.1",), {}, 200, id="a proxy's address"),
    ],
)
def test_many_failures_from_an_address_have_to_wait(
    tmp_path: Path, proxies: tuple[str, ...], headers: dict[str, str], status: int
) -> None:
    with open_room(tmp_path, http=OTHERS, trusted_proxies=proxies) as room:
        fail_often(room, -1, 3600 / INTERVAL_S)
        assert log_in(room, **headers) == status


def test_a_stranger_elsewhere_does_not_keep_a_person_from_logging_in(tmp_path: Path) -> None:
    with open_room(tmp_path, trusted_proxies=("127.0.0.0/8",)) as room:
        stranger, anna = ({"x-forwarded-for": f"203.0.113.{last}"} for last in (1, 2))
        fail_often(room, 0, 9, "203.0.113.1")
        assert [log_in(room, WRONG, **stranger) for _ in range(2)] == [401, 429]
        assert log_in(room, **anna) == 200


def test_logins_that_succeed_need_not_wait(room: HttpRoom) -> None:
    fail_often(room, 0, 9)
    assert [log_in(room) for _ in range(3)] == [200, 200, 200]


FOREIGN, SHOP = {"origin": "https://evil.example"}, {"origin": "https://shop.example"}
CROSS_SITE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(FOREIGN, id="another site"),
        pytest.param({"origin": "http://localhost:3000"}, id="another port of this host"),
        pytest.param({"origin": "null"}, id="sandboxed frame"),
        pytest.param(SHOP, id="site that may send pictures"),
        pytest.param(CROSS_SITE, id="picture or script of another site"),
        pytest.param({**CROSS_SITE, "sec-fetch-site": "same-site"}, id="neighbouring host"),
        pytest.param(
            {"origin": "http://localhost:8000", **CROSS_SITE}, id="browser and Origin disagree"
        ),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/v1/session", id="look"),
        pytest.param("DELETE", "/v1/session", id="log out"),
        pytest.param("GET", "/v1/people", id="people"),
        pytest.param("PUT", "/v1/people/boris", id="change"),
    ],
)
def test_a_page_of_another_site_gets_nothing_by_the_cookie(
    open_session: AnnasSession, method: str, path: str, headers: dict[str, str]
) -> None:
    """This holds even if the other page knows the CSRF token."""
    room, changes = open_session
    body = {"role": "viewer"}
    answer = room.client.request(method, path, headers={**changes, **headers}, json=body)
    assert (answer.status_code, answer.json()["reason"]) == (403, "origin")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "0" * 64},
        {"X-CSRF-Token": "\u00e4".encode()},
    ],
    ids=["none", "empty", "another", "not ASCII"],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/v1/session"), ("PUT", "/v1/people/boris"), ("DELETE", "/v1/people/boris")],
)
def test_a_change_by_cookie_needs_the_csrf_token(
    open_session: AnnasSession, method: str, path: str, headers: dict[str, str]
) -> None:
    room, _ = open_session
    answer = room.client.request(method, path, headers=headers, json={"role": "viewer"})
    assert (answer.status_code, answer.json()["reason"]) == (403, "csrf")


def test_the_csrf_token_of_another_session_does_not_help(open_session: AnnasSession) -> None:
    room, changes = open_session
    cookies = dict(room.client.cookies)
    room.client.cookies.clear()
    others = room.log_in("boris")
    room.client.cookies = cookies
    answer = room.client.delete("/v1/people/boris", headers=others)
    assert others != changes
    assert (answer.status_code, answer.json()["reason"]) == (403, "csrf")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(FOREIGN, id="another site"),
        pytest.param(SHOP, id="site that may send pictures"),
        pytest.param(CROSS_SITE, id="no origin"),
    ],
)
def test_a_page_of_another_site_cannot_log_its_reader_in(
    open_session: AnnasSession, headers: dict[str, str]
) -> None:
    room, _ = open_session
    answer = room.client.post("/v1/session", json=RIGHT, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (403, "origin")


def test_a_site_that_may_send_pictures_may_not_send_cookies_and_is_not_local(
    tmp_path: Path,
) -> None:
    options = {"keys": write_key_tables(tmp_path), "wants_keys": True}
    with open_room(tmp_path, cors_origins=("https://shop.example",), **options) as room:
        room.log_in()
        headers = {**SHOP, "access-control-request-method": "POST"}
        answer = room.client.options("/v1/recognize", headers=headers)
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        assert "access-control-allow-credentials" not in answer.headers
        assert room.recognize(**SHOP)[0] == 401
        assert room.client.get("/v1/people", headers=SHOP).status_code == 403
    (tmp_path / "local").mkdir()
    with open_room(tmp_path / "local", cors_origins=("https://shop.example",)) as room:
        assert room.client.get("/v1/people").status_code == 200
        answer = room.client.get("/v1/people", headers=SHOP)
        assert (answer.status_code, answer.json()["reason"]) == (403, "origin")
