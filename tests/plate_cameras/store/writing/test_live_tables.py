"""States, stills and drawn areas in both databases."""

import pytest

from plate_cameras.configuration import Line, Zone
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.writing.live_tables import Areas, CameraState, Still
from tests.plate_cameras.store.stored_events import NOW_S

AREAS = Areas(
    zones=(Zone("entry", ((0.0, 0.5), (1.0, 0.5), (1.0, 1.0))),),
    lines=(Line("stop", ((0.0, 0.5), (1.0, 0.5))),),
    masks=(Zone("caption", ((0.0, 0.0), (0.5, 0.0), (0.5, 0.1))),),
)


def state(camera: str, word: str) -> CameraState:
    return CameraState(camera, "watcher-1", NOW_S, {"state": word})


def test_the_last_state_of_each_camera_stays(store: PassStore) -> None:
    assert store.live.states() == {}
    store.live.write_states([])
    store.live.write_states([state("gate", "connecting"), state("yard", "playing")])
    store.live.write_states([state("gate", "playing")])
    assert store.live.states() == {
        "gate": state("gate", "playing"),
        "yard": state("yard", "playing"),
    }


def test_the_last_still_of_a_camera_stays(store: PassStore) -> None:
    with pytest.raises(UnknownName, match="no still of camera 'gate'"):
        store.live.still("gate")
    store.live.write_stills([Still("gate", NOW_S, b"first"), Still("yard", NOW_S, b"other")])
    store.live.write_stills([Still("gate", NOW_S + 10, b"second")])
    assert store.live.still("gate") == Still("gate", NOW_S + 10, b"second")
    assert store.live.still_times() == {"gate": NOW_S + 10, "yard": NOW_S}


def test_drawn_areas_come_back_with_who_drew_them(store: PassStore) -> None:
    store.live.draw("gate", AREAS, Requester("anna", "-"))
    (drawn,) = store.live.areas().values()
    assert (drawn.areas, drawn.changed_by) == (AREAS, "anna")


def test_each_change_of_areas_has_another_revision(store: PassStore) -> None:
    store.live.draw("gate", AREAS, Requester("anna", "-"))
    first = store.live.area_versions()
    store.live.draw("gate", Areas(), Requester("boris", "-"))
    second = store.live.area_versions()
    assert store.live.areas()["gate"].areas == Areas()
    store.live.erase("gate", Requester("anna", "-"))
    assert store.live.area_versions() == {}
    store.live.draw("gate", AREAS, Requester("anna", "-"))
    assert len({first["gate"], second["gate"], store.live.area_versions()["gate"]}) == 3
