"""Writes store the same rows in both databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plate_cameras.configuration import Camera, Line, Zone
from plate_cameras.passes import to_document
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.store_parts import measure_disks
from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.schema import camera_areas
from plate_cameras.store.writing.live_tables import Areas, CameraState, Still, draw_on
from plate_cameras.store.writing.pushed_pictures import MAX_TAKEN, PushedPicture
from tests.plate_cameras.store.stored_events import DAY_S, NOW_S, REQUESTER, WEBHOOK, make_event


def test_a_pass_is_kept_with_its_readings_and_pictures(store: PassStore) -> None:
    store.write([make_event("a")], [])

    details = store.get("a", REQUESTER)
    found_pass = details.found_pass
    assert (found_pass.text, found_pass.region_code) == ("A123BC77", "77")
    assert found_pass.zones == ("drive",)
    assert found_pass.candidates == (("A123BC77", 0.98), ("B777BB77", 0.01))
    assert found_pass.crossings == ({"line": "stop", "side": "left", "time_s": NOW_S - 59},)
    assert found_pass.best == {
        "time_s": NOW_S - 59,
        "box": [10.0, 20.0, 110.0, 45.0],
        "size_wh": [640, 480],
        "part": None,
        "blur": "none",
    }
    assert [reading.time_s for reading in details.readings] == [NOW_S - 60, NOW_S - 59]
    assert details.readings[0].candidates == (("A123BC77", 0.95), ("B777BB77", 0.03))
    assert details.readings[0].box == (10.0, 20.0, 110.0, 45.0)
    assert (details.readings[0].sharpness, details.readings[0].weight) == (0.7, 0.5)
    assert store.picture(found_pass.crop or "") == b"crop a"
    assert store.picture(found_pass.frame or "") == b"frame a"


@pytest.mark.parametrize("digest", ["", "../passes.db", "0" * 64])
def test_an_unknown_picture_is_said(store: PassStore, digest: str) -> None:
    with pytest.raises(UnknownName, match="no picture"):
        store.picture(digest)


def test_a_document_tells_the_hits(store: PassStore) -> None:
    store.lists.create("residents")
    store.lists.put("residents", [ListEntry("A128BC77", "flat 4", edits=1)])
    store.configure([Camera("gate", "rtsp://gate", lists=("residents",))])
    event = make_event("a")
    store.write([event], [WEBHOOK])

    document = dict(store.outbox.claim("webhook", 1, NOW_S, 60)[0].document)
    hits = document["data"].pop("lists")
    assert hits == [{"list": "residents", "text": "A128BC77", "note": "flat 4", "edits": 1}]
    assert document == to_document(event)
    assert store.get("a", REQUESTER).hits[0].note == "flat 4"


AREAS = Areas(
    zones=(Zone("entry", ((0.0, 0.5), (1.0, 0.5), (1.0, 1.0))),),
    lines=(Line("stop", ((0.0, 0.5), (1.0, 0.5))),),
    masks=(Zone("caption", ((0.0, 0.0), (0.5, 0.0), (0.5, 0.1))),),
)


def make_state(camera: str, word: str) -> CameraState:
    return CameraState(camera, "watcher-1", NOW_S, {"state": word})


def test_the_last_state_and_still_of_each_camera_stay(store: PassStore) -> None:
    assert store.live.states() == {}
    with pytest.raises(UnknownName, match="no still of camera 'gate'"):
        store.live.still("gate")
    store.live.write_states([])
    store.live.write_states([make_state("gate", "connecting"), make_state("yard", "playing")])
    store.live.write_states([make_state("gate", "playing")])
    assert store.live.states() == {name: make_state(name, "playing") for name in ("gate", "yard")}
    store.live.write_stills([Still("gate", NOW_S, b"first"), Still("yard", NOW_S, b"other")])
    store.live.write_stills([Still("gate", NOW_S + 10, b"second")])
    assert store.live.still("gate") == Still("gate", NOW_S + 10, b"second")
    assert store.live.still_times() == {"gate": NOW_S + 10, "yard": NOW_S}


def test_drawn_areas_come_back_and_each_change_has_another_revision(store: PassStore) -> None:
    store.live.draw("gate", AREAS, Requester("anna", "-"))
    (drawn_areas,) = store.live.areas().values()
    assert (drawn_areas.areas, drawn_areas.changed_by) == (AREAS, "anna")
    first = store.live.area_versions()
    store.live.draw("gate", Areas(), Requester("boris", "-"))
    second = store.live.area_versions()
    assert store.live.areas()["gate"].areas == Areas()
    store.live.erase("gate", Requester("anna", "-"))
    assert store.live.area_versions() == {}
    store.live.draw("gate", AREAS, Requester("anna", "-"))
    assert len({first["gate"], second["gate"], store.live.area_versions()["gate"]}) == 3


@pytest.mark.parametrize(
    ("zones", "problem"),
    [
        pytest.param([{"name": "a", "circle": 1}], "got circle", id="of-a-later-version"),
        pytest.param([{"name": "a", "polygon": [[0, 0]]}], "wanted 3 or more", id="damaged"),
        pytest.param([asdict(AREAS.zones[0])] * 2, "wanted one of this name", id="a-name-twice"),
    ],
)
def test_areas_that_cannot_be_read_are_those_of_their_camera_alone(
    store: PassStore, url: str, zones: list[dict[str, object]], problem: str
) -> None:
    for camera in ("gate", "yard"):
        store.live.draw(camera, AREAS, Requester("anna", "-"))
    of_the_gate = camera_areas.c.camera == "gate"
    with closing(Database(url)) as database, database.writing() as connection:
        connection.execute(sa.update(camera_areas).where(of_the_gate).values(zones=zones))
    drawn_areas = store.live.areas()
    assert problem in drawn_areas["gate"].problem
    assert (drawn_areas["yard"].areas, drawn_areas["yard"].problem) == (AREAS, "")
    gate, yard = Camera("gate", "rtsp://gate", lines=AREAS.lines), Camera("yard", "rtsp://yard")
    assert draw_on((gate, yard), drawn_areas) == (gate, replace(yard, **vars(AREAS)))


def make_picture(number: int, camera: str = "gate") -> PushedPicture:
    digest = bytes([number]) * 32
    return PushedPicture(camera, digest, b"a picture", "A123BC77", 0.9, 1e9 + number, "stream")


def test_pictures_wait_in_their_order_until_they_are_finished(store: PassStore) -> None:
    queue = store.pushed_pictures
    are_new = [queue.put(make_picture(number)) for number in (3, 1, 2, 1, 4, 5)]
    assert are_new == [True, True, True, False, True, True]
    assert queue.put(make_picture(1, "yard"))
    assert queue.cameras() == {"gate", "yard"}
    assert queue.waiting("gate") == [make_picture(number) for number in (3, 1, 2, 4)][:MAX_TAKEN]

    queue.finish("gate", make_picture(3).digest)
    assert queue.waiting("gate")[0] == make_picture(1)
    assert not queue.put(make_picture(3))
    queue.finish("yard", make_picture(1).digest)
    assert queue.cameras() == {"gate"}


def test_pictures_wait_as_long_as_passes_are_kept_and_digests_a_day(store: PassStore) -> None:
    queue = store.pushed_pictures
    for number in (1, 2):
        queue.put(make_picture(number))
    queue.finish("gate", make_picture(1).digest)
    store.delete_expired(NOW_S + 2 * DAY_S)
    assert queue.waiting("gate") == [make_picture(2)]
    assert [queue.put(make_picture(number)) for number in (1, 2)] == [True, False]
    store.delete_expired(NOW_S + 31 * DAY_S)
    assert queue.waiting("gate") == []


def test_pictures_wait_no_longer_than_the_passes_of_their_camera_are_kept(store: PassStore) -> None:
    store.configure([Camera("yard", "push:hikvision", retention_days=0.5)])
    for camera in ("gate", "yard"):
        store.pushed_pictures.put(make_picture(1, camera))
    store.live.write_stills([Still(name, NOW_S, b"") for name in ("gate", "yard")])
    store.delete_expired(NOW_S + 0.6 * DAY_S)
    assert store.pushed_pictures.cameras() == {"gate"}
    assert [*store.live.still_times()] == ["gate"]


def test_a_store_tells_whether_its_database_answers(
    tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    store = opening()
    store.replay_spool()
    status = store.storage()
    assert status.is_database_up
    assert status.spool_limit_bytes == 2**30
    assert [*status.disks] == ["spool", "pictures"]
    store.close()
    for file in tmp_path.glob("passes.db*"):
        file.unlink()
    (tmp_path / "passes.db").mkdir()
    store.replay_spool()  # there are no passes
    assert not store.storage().is_database_up


def test_the_disk_of_a_folder_that_is_not_made_yet_is_that_above_it(tmp_path: Path) -> None:
    [disk] = measure_disks({"spool": tmp_path / "a" / "b"}).values()
    assert 0 < disk.free_bytes <= disk.size_bytes
