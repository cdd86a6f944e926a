"""Running control rooms with rendered passes, for browsers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import cv2
from argon2 import PasswordHasher

from orchestrator.serving.gateway.launcher import start
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.ports import free_ports
from plate_cameras.configuration import read_configuration
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.passes import PassEvent
from plate_cameras.store.factory import open_store
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import OPENED, REFUSED, GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.people.people import Person
from plate_cameras.store.writing.live_tables import CameraState, Still
from tests.http_servers import is_answered
from tests.plate_cameras.samples import make_event
from tests.serving.gateway.key_files import write_keys
from tests.waiting import until
from workshop.rendering.scenery import scene

PASSWORD = "correct horse battery"
PEOPLE = (
    Person("anna", "administrator"),
    Person("boris", "viewer", ("south",)),
    Person("clara", "viewer"),
)
TESTER = Requester("test", "test")
CAMERAS = """
[store]
keep_frames = true

[[cameras]]
name = "gate"
url = "rtsp://10.0.0.5/stream1"
lists = ["residents"]
lines = [{ name = "barrier", points = [[0, 0.8], [0.6, 0.8]] }]

[[cameras]]
name = "yard"
url = "rtsp://10.0.0.6/stream1"
group = "south"
lists = ["residents"]

[[gates]]
name = "barrier"
type = "http"
url = "http://10.0.0.9/relay"
cameras = ["gate"]
lists = ["residents"]
blocked_lists = ["residents"]

[[sinks]]
name = "guard"
type = "notify"
url = "env:NOT_SET"

[[sites]]
name = "yard"
entries = ["gate"]
exits = ["yard"]
max_stay_hours = 1
"""
REFUSAL = to_sentence("hold_off", ago_s="3", hold_off_s="60")
NOW_S = 1_750_003_200.0
"""Time of the first pass: 2025-06-15, 16:00 UTC."""


@dataclass(frozen=True)
class RunningRoom:
    """A control room that a browser can open.

    Attributes:
        url: Its address, with a slash at the end.
        store: Its store.
    """

    url: str
    store: PassStore


@contextmanager
def run_room(folder: Path, settings: str = "", **options: Any) -> Iterator[RunningRoom]:
    """Run a control room on a free port until the end of the block.

    Args:
        folder: Folder of its files.
        settings: Lines of the file of cameras, before the others.
        options: More options of the gateway.
    """
    file = folder / "CAMERAS.toml"
    file.write_text(settings + CAMERAS)
    store = open_store(read_configuration(file).store, folder)
    store.configure(read_configuration(file).cameras)
    port, metrics, triton = free_ports(3)
    gateway_options = GatewayOptions(
        http=Address("127.0.0.1", port),
        grpc=None,
        metrics=Address("127.0.0.1", metrics),
        triton_http=f"http://127.0.0.1:{triton}",
        triton_grpc=f"127.0.0.1:{triton}",
        triton_metrics=f"http://127.0.0.1:{triton}/metrics",
        cameras=file,
        audit=folder / "audit.jsonl",
        **options,
    )
    gateway = start(gateway_options)
    try:
        url = f"http://localhost:{port}/"
        until(lambda: is_answered(f"{url}live"), "a control room")
        yield RunningRoom(url, store)
    finally:
        gateway.stop()
        store.close()


@contextmanager
def run_room_of_people(folder: Path, settings: str = "") -> Iterator[RunningRoom]:
    """Run a filled control room whose people log in, all with the same password."""
    keys = write_keys(folder, gate="secret")
    with run_room(folder, settings, keys=keys, wants_keys=True) as room:
        fill(room.store)
        password_hash = PasswordHasher(1, 8, 1).hash(PASSWORD)
        for person in PEOPLE:
            room.store.people.add(person, password_hash, TESTER)
        yield room


def make_pass(id_: str, kind: str = "closed", *, at_s: float = NOW_S, **changes: Any) -> PassEvent:
    """Return an event of a rendered pass; `changes` are fields of the pass."""
    event = make_event(kind, id_=id_)  # type: ignore[arg-type]
    crop, frame = render_pictures()
    best = replace(event.vehicle_pass.best, crop_jpeg=crop, frame_jpeg=frame)
    fields = {"first_seen_s": at_s, "last_seen_s": at_s + 1.5, "best": best, **changes}
    return PassEvent(event.kind, replace(event.vehicle_pass, **fields))


def fill(store: PassStore) -> None:
    """Write passes of two cameras, a list, and the status of the cameras' watcher."""
    store.lists.create("residents", "House 5")
    store.lists.put(
        "residents", [ListEntry("A123BC77", "flat 12", edits=1)], Requester("anna", "-")
    )
    texts = ("A123BC77", "M456OP199", "A128BC77", "K777KK177")
    for number, text in enumerate(texts):
        camera = "gate" if number % 2 == 0 else "yard"
        changes = {"text": text, "camera": camera, "candidates": ((text, 0.97),)}
        store.write([make_pass(f"pass-{number}", at_s=NOW_S + 60 * number, **changes)], [])
    store.openings.write([_make_opening(OPENED, "", 0.4), _make_opening(REFUSED, REFUSAL, None)])
    state = {"state": "playing", "frames": 12, "plates": 7, "passes": 4, "delay_s": 0.2}
    store.live.write_states([CameraState("gate", "watcher", NOW_S, state)])
    store.live.write_stills([Still("gate", NOW_S, render_pictures()[1])])


def _make_opening(outcome: str, reason: str, delay_s: float | None) -> GateOpening:
    return GateOpening(
        gate="barrier",
        camera="gate",
        pass_id="pass-0",
        text="A123BC77",
        list="residents",
        entry_text="A123BC77",
        outcome=outcome,
        reason=reason,
        requested_s=NOW_S + 1,
        delay_s=delay_s,
    )


@cache
def render_pictures() -> tuple[bytes, bytes]:
    """Return the crop of a rendered plate and the whole frame, as JPEG files."""
    street = scene(["A123BC77"], (640, 360), seed=4)
    x0, y0, x1, y1 = map(int, street.xyxy[0])
    crop = street.picture[y0 - 8 : y1 + 8, x0 - 8 : x1 + 8]
    crop_jpeg, frame_jpeg = (cv2.imencode(".jpg", part)[1] for part in (crop, street.picture))
    return crop_jpeg.tobytes(), frame_jpeg.tobytes()
