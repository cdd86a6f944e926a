"""A control room in the test's own process, behind the gateway's whole HTTP application."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from argon2 import PasswordHasher
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.http.app import make_app
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from orchestrator.serving.gateway.policy.api_keys import hash_of
from plate_cameras.configuration import Store
from plate_cameras.control_room.extension import ControlRoomExtension, open_control_room
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.people import Person
from tests.serving.gateway.http.service import lasting_app

PASSWORD = "correct horse battery"
HASH = PasswordHasher(1, 8, 1).hash(PASSWORD)
"""Hash of the password, made with the cheapest parameters."""
TESTER = Requester("tester", "test")
ANNA, BORIS = Person("anna", "administrator"), Person("boris", "viewer", ("north",))
OTHERS = Address("0.0.0.0", 8000)
CAMERAS = """
[[cameras]]
name = "gate"
url = "rtsp://10.0.0.5/stream1"
group = "north"
"""


@dataclass(frozen=True)
class HttpRoom:
    """A running control room.

    Attributes:
        client: Sends requests from this machine, and keeps cookies.
        store: Its store.
        audit: The gateway's audit log.
    """

    client: TestClient
    store: PassStore
    audit: Path

    def log_in(self, name: str = ANNA.name, password: str = PASSWORD) -> dict[str, str]:
        """Log in, and return the header that changes need."""
        answer = self.client.post("/v1/session", json={"name": name, "password": password})
        assert answer.status_code == 200, answer.text
        return {"X-CSRF-Token": answer.json()["csrf"]}

    def recognize(self, **headers: str) -> tuple[int, str]:
        """Send no picture; return the status and the reason. Who may send pictures gets 400."""
        all_headers = {"content-type": "image/jpeg", **headers}
        answer = self.client.post("/v1/recognize", content=b"", headers=all_headers)
        return answer.status_code, answer.json()["reason"]


@contextmanager
def open_room(
    folder: Path,
    *,
    people: Sequence[Person] = (ANNA, BORIS),
    url: str = "http://localhost:8000",
    cameras: str = CAMERAS,
    **options: object,
) -> Iterator[HttpRoom]:
    """Open a control room with some people, all of whom have the same password.

    Args:
        folder: Folder of the file of cameras.
        people: The people.
        url: Address that the client calls.
        cameras: The file of cameras.
        options: Options of the gateway.
    """
    file = folder / "CAMERAS.toml"
    file.write_text(cameras)
    (folder / "passes.db").write_bytes(_database_with_tables())
    store = open_store(Store(), folder)
    for person in people:
        store.people.add(person, HASH, TESTER)
    audit = folder / "audit.jsonl"
    gateway_options = GatewayOptions(cameras=file, audit=audit, limits=Limits(calls=4), **options)
    with TestClient(to_app(gateway_options), url, client=("127.0.0.1", 50000)) as client:
        yield HttpRoom(client, store, audit)
    store.close()


@contextmanager
def open_with_keys(folder: Path) -> Iterator[HttpRoom]:
    """Open a room of a gateway that requires keys; the key of each entry is its name."""
    keys = write_key_tables(
        folder,
        gate="",
        desk='role = "viewer"\ngroups = ["north"]',
        office='role = "administrator"',
        north='role = "administrator"\ngroups = ["north"]',
        editor='role = "editor"',
    )
    with open_room(folder, keys=keys, wants_keys=True) as room:
        yield room


def write_key_tables(folder: Path, **keys: str) -> Path:
    """Write a file of keys by their names, with more lines of their entries."""
    tables = (f'[{name}]\nsha256 = "{hash_of(name)}"\n{more}\n' for name, more in keys.items())
    file = folder / "keys.toml"
    file.write_text("".join(tables))
    return file


@cache
def _database_with_tables() -> bytes:
    """Return the SQLite file of an empty store: making the tables takes long."""
    with tempfile.TemporaryDirectory() as folder:
        open_store(Store(), Path(folder)).close()
        return (Path(folder) / "passes.db").read_bytes()


def to_app(
    options: GatewayOptions,
    make_extension: Callable[[GatewayOptions], ControlRoomExtension] = open_control_room,
) -> ASGIApp:
    """Return the gateway's HTTP application with a control room, whose tasks run."""

    @asynccontextmanager
    async def open_app() -> AsyncIterator[ASGIApp]:
        service, extension = DataPlane(options), make_extension(options)
        duties = [asyncio.create_task(duty) for duty in extension.duties()]
        yield make_app(service, extension)
        for duty in duties:
            duty.cancel()
        await asyncio.wait(duties)
        await extension.close()
        await service.close()

    return lasting_app(open_app)
