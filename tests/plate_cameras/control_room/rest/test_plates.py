"""The data of one plate: export and deletion over HTTP."""

from __future__ import annotations

import io
import json
import zipfile

from tests.plate_cameras.control_room.rest.rooms import EDITOR, OF_THE_EAST, RestRoom, add_openings

PLATE = "/v1/plates/A123BC77"


def export(room: RestRoom) -> dict[str, bytes]:
    """Return the files of an export, by their names."""
    answer = room.client.get(f"{PLATE}/export", headers={"x-reason": "owner"})
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_export_has_the_passes_and_their_pictures(filled_room: RestRoom) -> None:
    files = export(filled_room)
    (line,) = files["passes.jsonl"].splitlines()
    assert json.loads(line)["found"]["id"] == "gate-1"
    assert len([name for name in files if name.endswith(".jpg")]) == 2
    assert filled_room.kinds()[0] == ("local", "owner", "export plate", 1)


def test_an_export_has_only_openings_of_cameras_that_are_shown(filled_room: RestRoom) -> None:
    add_openings(filled_room)
    filled_room.enter_as(OF_THE_EAST)
    openings = map(json.loads, export(filled_room)["openings.jsonl"].splitlines())
    assert [opening["camera"] for opening in openings] == ["gate"]


def test_a_deletion_leaves_nothing_but_other_plates(filled_room: RestRoom) -> None:
    answer = filled_room.client.delete(f"{PLATE}?entries=true", headers={"x-reason": "owner"})
    assert answer.json() == {"passes": 1, "pictures": 2, "spooled": 0, "entries": 1}
    assert [fields["id"] for fields in filled_room.get("/v1/passes")["passes"]] == ["yard-1"]
    assert filled_room.get("/v1/lists/residents/entries")["entries"] == []


def test_both_need_a_reason_if_reasons_are_required(filled_room: RestRoom) -> None:
    filled_room.require_reasons()
    assert filled_room.client.get(f"{PLATE}/export").status_code == 400
    assert filled_room.client.delete(PLATE).status_code == 400
    assert len(filled_room.get("/v1/passes?reason=check")["passes"]) == 2


def test_both_are_for_administrators_and_a_plate_is_deleted_only_as_a_whole(
    filled_room: RestRoom,
) -> None:
    filled_room.enter_as(EDITOR)
    assert filled_room.client.get(f"{PLATE}/export").status_code == 403
    assert filled_room.client.delete(PLATE).status_code == 403
    filled_room.enter_as(OF_THE_EAST)
    answer = filled_room.client.delete(PLATE)
    assert answer.status_code == 403
    assert "administrator of all cameras" in answer.json()["detail"]
