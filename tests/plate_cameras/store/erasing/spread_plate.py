"""A plate that is stored in every way, among others, and the files that contain its bytes."""

import os
from dataclasses import replace
from pathlib import Path

from plate_cameras.configuration import Camera
from plate_cameras.passes import PassEvent
from plate_cameras.store.finding.pass_query import PassQuery, Requester
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.addressed_events import address
from plate_cameras.store.writing.live_tables import CameraState
from tests.plate_cameras.store.stored_events import NOW_S, WEBHOOK, make_event, with_pictures

TEXT, MISREAD, OTHER = "Y908XE77", "Y903XK77", "M007KM99"
CYRILLIC, SPACED = "\u0443908\u0445\u043577", "Y 908-xe 77"
WRITTEN = [text.encode() for text in (TEXT, TEXT.lower(), CYRILLIC, CYRILLIC.upper(), SPACED)]
GRAM = b"8XE"
"""Three characters that only this text has: the trigram index holds them."""
PICTURE = b"\xff\xd8 the picture of " + bytes(range(200))
OTHERS = 60
REQUESTER = Requester("officer", f"request of the owner of {TEXT.lower()}")
STATES = [
    CameraState(name, "w", NOW_S, {"name": name, "last_text": text})
    for name, text in (("gate", TEXT), ("yard", OTHER))
]


def show(event: PassEvent, name: bytes) -> PassEvent:
    return with_pictures(event, PICTURE + name + b" crop", PICTURE + name + b" frame")


def make_misread() -> PassEvent:
    """Return another vehicle's pass, one of whose frames was read as the plate."""
    wrong_looks = make_event("wrong", TEXT).vehicle_pass.observations[:1]
    looks = wrong_looks + make_event("misread", MISREAD).vehicle_pass.observations
    candidates = ((MISREAD, 0.9), (TEXT, 0.05))
    return make_event("misread", MISREAD, observations=looks, candidates=candidates)


def events_of_the_plate() -> list[PassEvent]:
    unread = make_event("unread", TEXT)
    unread_pass = replace(unread.vehicle_pass, text="", candidates=())
    return [
        show(make_event("a", TEXT, "agreed"), b"early"),
        show(make_event("a", TEXT, "updated", last_seen_s=NOW_S - 30), b"later"),
        show(make_event("a", TEXT, last_seen_s=NOW_S - 20), b"last"),
        *(show(make_event(f"again {at}", TEXT), bytes([at])) for at in range(20)),
        show(replace(unread, vehicle_pass=unread_pass), b"unread"),
    ]


def fill(store: PassStore) -> None:
    """Store the plate in every way, among other plates."""
    store.lists.create("residents", f"with {TEXT}")
    entries = ListEntry(TEXT, "flat 4", edits=2), ListEntry(OTHER, f"second car of {SPACED}")
    store.lists.put("residents", entries)
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    other_events = [make_event(f"other {at}", f"B{at:03d}KM{at % 90 + 10}") for at in range(OTHERS)]
    corrected_events = make_event("corrected", TEXT, "agreed"), make_event("corrected", MISREAD)
    for events in (other_events[::2], *([event] for event in events_of_the_plate())):
        store.write(events, [WEBHOOK])
    for delivery in store.outbox.claim(WEBHOOK.name, 50, NOW_S, 60):
        store.outbox.confirm([delivery], NOW_S)
    for event in (*other_events[1::2], make_misread(), *corrected_events):
        store.write([event], [WEBHOOK])
    store.write([make_event("listed", OTHER)], [WEBHOOK])
    for query in (*map(PassQuery, (TEXT, CYRILLIC, "Y9*")), PassQuery(parts=(TEXT,))):
        store.search(query, REQUESTER)
    store.search(PassQuery(), Requester("officer", f"the owner of {SPACED} asks"))
    opening = GateOpening("g", "gate", "a", TEXT, "residents", TEXT, "opened", "", NOW_S, id="own")
    store.openings.write([opening, replace(opening, id="other", text=OTHER, entry_text=OTHER)])
    store.live.write_states(STATES)


def fill_folders(store: PassStore) -> None:
    """Add events to the spool and to the rejected ones, one of which is damaged."""
    spool = store.writer.spool
    for name in ("waits", "damaged"):
        spool.put(address([show(make_event(name, TEXT), name.encode())], [], NOW_S))
    spool.reject(sorted(spool.folder.glob("*.event"))[1], "a test")
    [aside] = spool.folder.glob("rejected/*")
    os.truncate(aside, aside.stat().st_size - 9)


def places_of(folder: Path, *contents: bytes) -> set[str]:
    """Return the top-level names of the files that contain some bytes."""
    return {
        file.relative_to(folder).parts[0]
        for file in folder.rglob("*")
        if file.is_file() and any(content in file.read_bytes() for content in contents)
    }
