"""Writes store the same rows in both databases."""

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.passes import to_document
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.pass_store import PassStore
from tests.plate_cameras.store.stored_events import (
    NOW_S,
    REQUESTER,
    WEBHOOK,
    make_event,
)


def test_a_pass_is_kept_with_its_readings_and_pictures(store: PassStore) -> None:
    store.write([make_event("a")], [])

    details = store.get("a", REQUESTER)
    found = details.found
    assert (found.text, found.region_code, found.zones) == ("A123BC77", "77", ("drive",))
    assert found.candidates == (("A123BC77", 0.98), ("B777BB77", 0.01))
    assert found.crossings == ({"line": "stop", "side": "left", "time_s": NOW_S - 59},)
    assert found.best == {
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
    assert store.picture(found.crop or "") == b"crop a"
    assert store.picture(found.frame or "") == b"frame a"


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
