"""A control room in a test's own process, whose principal the test chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.gateway.policy.clients import Client
from plate_cameras.configuration import Camera, Configuration, ControlRoomSettings, Store, Zone
from plate_cameras.control_room.access.principals import Principal, Role
from plate_cameras.control_room.endpoint import ControlRoom
from plate_cameras.control_room.extension import ControlRoomExtension
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.store.factory import open_store
from plate_cameras.store.openings.gate_openings import OPENED, REFUSED, GateOpening
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.control_room.access.rooms import to_app
from tests.plate_cameras.store.stored_events import NOW_S

CAMERAS = (
    Camera(
        "gate",
        "rtsp://user:secret@10.0.0.5/1",
        group="east",
        lists=("residents",),
        zones=(Zone("entry", ((0.0, 0.5), (1.0, 0.5), (1.0, 1.0))),),
    ),
    Camera("yard", "rtsp://10.0.0.6/1", group="west", lists=("residents",)),
)
ADMINISTRATOR = Principal("local", Role.ADMINISTRATOR)
EDITOR = Principal("boris", Role.EDITOR)
VIEWER = Principal("anna", Role.VIEWER)
OF_THE_EAST = Principal("anna", Role.ADMINISTRATOR, ("east",))


class ChosenPrincipal:
    """Admits every caller as the same principal."""

    def __init__(self, principal: Principal) -> None:
        self.principal, self.has_rights = principal, True

    async def principal_of(self, _request: object) -> Principal:
        return self.principal

    async def find_client(self, _headers: object, address: Client) -> Client:
        return address

    async def find_sender(self, _headers: object, _address: Client) -> None: ...

    async def is_current(self, _request: object) -> bool:
        return self.has_rights

    def close(self) -> None: ...


class RestRoom:
    """A control room, the parts of its routes, a caller, and a store whose clock is at NOW_S."""

    def __init__(self, store: PassStore) -> None:
        self.store = store
        self._access = ChosenPrincipal(ADMINISTRATOR)
        room = ControlRoom(Configuration(CAMERAS), store, self._access)  # type: ignore[arg-type]
        options = GatewayOptions(
            triton_http="127.0.0.1:1",
            triton_grpc="127.0.0.1:1",
            triton_metrics="http://127.0.0.1:1",
            limits=Limits(calls=4),
        )
        self.room = room
        app = to_app(options, lambda _: ControlRoomExtension(room, Path("CAMERAS.toml")))
        self.client = TestClient(app, "http://localhost", client=("127.0.0.1", 50000))

    def enter_as(self, principal: Principal) -> None:
        self._access.principal = principal

    def withdraw_rights(self) -> None:
        """Withdraw the rights of callers whose requests are being answered."""
        self._access.has_rights = False

    def require_reasons(self) -> None:
        settings = ControlRoomSettings(reasons_required=True)
        self.room.configuration = replace(self.room.configuration, control_room=settings)

    def get(self, path: str, **headers: str) -> Any:
        """Return the JSON of an answer."""
        answer = self.client.get(path, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def kinds(self) -> list[tuple[str, str, str, int]]:
        """Return caller, reason, kind and count of each audit entry, newest first."""
        entries = self.get("/v1/audit")["searches"]
        return [(entry["who"], entry["why"], entry["kind"], entry["count"]) for entry in entries]


@contextmanager
def open_room(folder: Path) -> Iterator[RestRoom]:
    room = RestRoom(open_store(Store(keep_frames=True, blur="none"), folder, clock=lambda: NOW_S))
    with room.client:
        yield room


def add_openings(room: RestRoom) -> None:
    """Write an opening at the gate, and one that was refused in the yard."""
    openings = [
        GateOpening(
            gate="barrier",
            camera=camera,
            pass_id=f"{camera}-1",
            text="A123BC77",
            list="residents",
            entry_text="A123BC77",
            outcome=outcome,
            reason="" if outcome == OPENED else to_sentence("score", threshold="0.95"),
            requested_s=NOW_S,
            delay_s=delay_s,
        )
        for camera, outcome, delay_s in (("gate", OPENED, 0.4), ("yard", REFUSED, None))
    ]
    room.store.openings.write(openings)
