"""A control room with two groups, south and zq7; zq7 has data of every kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from plate_cameras.configuration import Camera, Zone
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import FAILED, OPENED, GateOpening
from plate_cameras.store.people.people import Person
from plate_cameras.store.writing.live_tables import Areas, CameraState, Still
from tests.plate_cameras.control_room.access.rooms import (
    HASH,
    TESTER,
    HttpRoom,
    open_room,
    write_key_tables,
)
from tests.plate_cameras.store.stored_events import NOW_S, make_event

TEXT, LISTED = "B234CD77", "C345EK77"
"""Plates that only zq7 has."""
SECRETS = re.compile(rf"zq7|{TEXT}|{LISTED}", re.IGNORECASE)
"""Texts that only members of zq7 may read."""
ROLES = ("viewer", "editor", "administrator")
ALL, NORTH = {"X-API-Key": "office"}, {"X-API-Key": "zq7-key", "X-Reason": "case zq7"}


def key_of(role: str) -> dict[str, str]:
    """Return the header with a key of the south."""
    return {"X-API-Key": f"south-{role}"}


def cameras_of(group: str) -> tuple[Camera, ...]:
    """Return a group's camera as watchers configure the store."""
    return (Camera(f"{group}-gate", "rtsp://10.0.0.5/1", group=group, lists=(f"{group}-cars",)),)


def settings_of(group: str, group_of_camera: str = "") -> str:
    """Return a group's lines of the file of cameras."""
    return f"""
[[cameras]]
name = "{group}-gate"
url = "rtsp://10.0.0.5/stream1"
group = "{group_of_camera or group}"
lists = ["{group}-cars"]
[[gates]]
name = "{group}-barrier"
type = "http"
url = "http://10.0.0.9/relay"
cameras = ["{group}-gate"]
lists = ["{group}-gate-list"]
[[sinks]]
name = "{group}-sink"
type = "jsonl"
url = "/dev/null"
cameras = ["{group}-gate"]
[[sites]]
name = "{group}-site"
entries = ["{group}-gate"]
exits = ["{group}-gate"]
max_stay_hours = 1
forget_days = 365
"""


SHARED_GATE = """
[[gates]]
name = "yard"
type = "http"
url = "http://10.0.0.9/relay"
cameras = ["south-gate", "zq7-gate"]
lists = ["south-cars", "zq7-cars"]
"""
"""A gate that cameras of both groups open; it makes no list of one group that of the other."""


@contextmanager
def open_two_groups(folder: Path) -> Iterator[HttpRoom]:
    """Open a room with keys of both groups, and with data of the south."""
    roles = {f"south-{role}": f'role = "{role}"\ngroups = ["south"]' for role in ROLES}
    zq7 = 'role = "administrator"\ngroups = ["zq7"]'
    keys = write_key_tables(folder, **roles, office='role = "administrator"', **{"zq7-key": zq7})
    people = (Person("south-person", "viewer", ("south",)), Person("root", "administrator"))
    cameras = settings_of("south") + settings_of("zq7") + SHARED_GATE
    options = {"keys": keys, "wants_keys": True, "triton_metrics": "http://127.0.0.1:1"}
    with open_room(folder, people=people, cameras=cameras, **options) as room:
        fill(room, "south", "A123BC77", "H456OP99")
        yield room


def fill(room: HttpRoom, group: str, text: str, second_text: str) -> None:
    """Add data of every kind to a group."""
    store, camera = room.store, f"{group}-gate"
    zone = Zone(f"{group}-zone", ((0.0, 0.5), (1.0, 0.5), (1.0, 1.0)))
    for name in ("cars", "gate-list", "unused"):
        store.lists.save(f"{group}-{name}", f"house of {group}", 7.0, TESTER)
        store.lists.put(
            f"{group}-{name}",
            [ListEntry(entry_text, f"note {group}") for entry_text in (text, second_text)],
            accepts_doubtful=True,
        )
    store.configure(cameras_of(group))
    store.write([make_event(f"{group}-1", text, camera=camera, zones=(zone.name,))], [])
    openings = [_opening(group, camera, text), _opening(group, "", text)]
    if group == "south":  # a list of zq7 opens the shared gate for a vehicle of the south
        openings.append(replace(openings[0], gate="yard", list="zq7-cars", entry_text=LISTED))
    numbered = enumerate(openings)
    store.openings.write([replace(opening, id=f"{group}-{at}") for at, opening in numbered])
    store.live.write_states([CameraState(camera, f"{group}-host", NOW_S, {"error": group})])
    store.live.write_stills([Still(camera, NOW_S, f"still {group}".encode())])
    store.live.draw(camera, Areas(zones=(zone,)), TESTER)
    if store.people.find(f"{group}-person") is None:
        store.people.add(Person(f"{group}-person", "viewer", (group,)), HASH, TESTER)


def act_in_zq7(room: HttpRoom) -> None:
    """Search, make a list that no camera uses, and add a person, as the key of zq7."""
    client = room.client
    assert client.get(f"/v1/passes?text={TEXT}", headers=NORTH).status_code == 200
    assert client.put("/v1/lists/zq7-made", json={}, headers=NORTH).status_code == 200
    entry = client.put(f"/v1/lists/zq7-made/entries/{LISTED}", json={}, headers=NORTH)
    assert entry.status_code == 200
    clara = {"role": "viewer", "groups": ["zq7"], "password": "long enough for all"}
    assert client.put("/v1/people/zq7-clara", json=clara, headers=NORTH).status_code == 201


def _opening(group: str, camera: str, text: str) -> GateOpening:
    return GateOpening(
        gate=f"{group}-barrier",
        camera=camera,
        pass_id=f"{group}-1" if camera else "",
        text=text,
        list=f"{group}-gate-list",
        entry_text=text,
        outcome=OPENED if camera else FAILED,
        reason="" if camera else f"reason {group}",
        requested_s=NOW_S,
    )
