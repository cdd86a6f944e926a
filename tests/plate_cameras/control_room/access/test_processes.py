"""People and several processes of a real gateway, which share one database."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pytest

from plate_cameras.configuration import Store
from plate_cameras.control_room.access.logins import limits_of
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.control_room.access.rooms import (
    ANNA,
    CAMERAS,
    HASH,
    PASSWORD,
    TESTER,
    write_key_tables,
)
from tests.serving.gateway.conftest import GREY, Running, gateways

pytestmark = pytest.mark.server

ENOUGH = 12
"""Number of connections by which each process has almost surely had one: the kernel picks at
random."""


@dataclass(frozen=True)
class SharedGateway:
    """A gateway of two processes, and the store that it shares with `plates people`."""

    gateway: Running
    store: PassStore

    def log_in(self, name: str = "anna") -> tuple[int, str, str]:
        """Return the status of a login, the cookie to send and the CSRF token."""
        body = json.dumps({"name": name, "password": PASSWORD}).encode()
        headers = {"content-type": "application/json"}
        status, answer_headers, content = self.gateway.ask("POST", "/v1/session", body, **headers)
        cookie = answer_headers.get("set-cookie", "").partition(";")[0]
        return status, cookie, json.loads(content).get("csrf", "")

    def statuses(self, method: str, path: str, body: bytes | None = None, **headers: str) -> set:
        """Return the statuses of the same request on many connections."""
        return {self.gateway.ask(method, path, body, **headers)[0] for _ in range(ENOUGH)}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedGateway]:
    folder = tmp_path_factory.mktemp("room")
    (folder / "CAMERAS.toml").write_text(CAMERAS)
    keys = write_key_tables(folder, gate="")
    with closing(open_store(Store(), folder)) as store, gateways(folder) as begin:
        store.people.add(ANNA, HASH, TESTER)
        cameras = folder / "CAMERAS.toml"
        yield SharedGateway(begin(processes=2, cameras=cameras, keys=keys, wants_keys=True), store)


def test_a_session_counts_in_all_processes_and_ends_in_all_at_once(service: SharedGateway) -> None:
    status, cookie, csrf = service.log_in()
    assert status == 200
    assert service.statuses("GET", "/v1/people", cookie=cookie) == {200}
    pictures = {"cookie": cookie, "content-type": "image/jpeg", "x-csrf-token": csrf}
    assert service.statuses("POST", "/v1/recognize", GREY, **pictures) == {200}
    changes = {"cookie": cookie, "x-csrf-token": csrf}
    assert service.gateway.ask("DELETE", "/v1/session", **changes)[0] == 204
    assert service.statuses("GET", "/v1/people", cookie=cookie) == {401}
    assert service.statuses("POST", "/v1/recognize", GREY, **pictures) == {401}


def test_plates_people_ends_sessions_of_a_running_service(service: SharedGateway) -> None:
    _, cookie, _ = service.log_in()
    assert service.statuses("GET", "/v1/session", cookie=cookie) == {200}
    service.store.people.change(ANNA, TESTER, password_hash=HASH)
    assert service.statuses("GET", "/v1/session", cookie=cookie) == {401}


def test_processes_share_the_limit_on_failed_logins(service: SharedGateway) -> None:
    of_name, *_ = limits_of("clara", "127.0.0.1")
    assert service.log_in("clara")[0] == 401
    assert service.store.login_attempts.take([replace(of_name, attempts=1)]) > 0
    service.store.login_attempts.take([replace(of_name, interval_s=3600)])
    statuses = [service.log_in("clara")[0] for _ in range(ENOUGH)]
    assert statuses == [429] * ENOUGH
