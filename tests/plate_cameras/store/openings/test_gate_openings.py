"""Records of gates: written once, read in pages, deleted by age and on request."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.configuration import Camera
from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.openings import opening_log
from plate_cameras.store.openings.gate_openings import GateOpening, to_line
from plate_cameras.store.openings.opening_log import FILE, REJECTED, OpeningLog
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.scope import EVERYTHING, Scope
from plate_cameras.store.tables.database import Database
from tests.plate_cameras.store.stored_events import DAY_S, NOW_S, REQUESTER

OPENING = GateOpening(
    gate="north",
    camera="gate",
    pass_id="a",
    text="A123BC77",
    list="residents",
    entry_text="A123BC77",
    outcome="opened",
    reason="",
    requested_s=NOW_S,
    delay_s=0.4,
    id="one",
)
OUTCOMES = ("unknown", "failed", "refused")


def make_openings(count: int) -> list[GateOpening]:
    """Return openings of different passes, one a second."""
    return [
        replace(OPENING, id=f"{at}", pass_id=f"p{at}", requested_s=NOW_S + at)
        for at in range(count)
    ]


def ids_of(store: PassStore, scope: Scope = EVERYTHING, pass_id: str | None = None) -> list[str]:
    return [opening.id for opening in store.openings.page(scope, pass_id=pass_id).openings]


def block(log: OpeningLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a log's database unreachable."""

    def refuse(*_: object) -> None:
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(log, "_insert", refuse)


YARD = Scope(("west",), frozenset({"yard"}))


def test_a_page_may_be_limited_to_cameras_and_passes(store: PassStore) -> None:
    store.openings.write([OPENING, replace(OPENING, id="two", camera="yard", pass_id="b")])

    assert ids_of(store, YARD) == ["two"]
    assert ids_of(store, Scope(("empty",), frozenset())) == []
    assert ids_of(store, pass_id="a") == ["one"]


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"cursor": "x"}])
def test_wrong_pages_are_rejected(store: PassStore, wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="wanted"):
        store.openings.page(EVERYTHING, **wrong)  # type: ignore[arg-type]


def test_recent_openings_have_their_ages_by_the_store_s_clock(
    database: Database, tmp_path: Path
) -> None:
    """The clocks of the requests' times may have been set."""
    now_s = NOW_S
    log = OpeningLog(database, tmp_path, lambda: now_s)
    ages = {"oldest": 60.1, "old": 60.0, "failed": 3.0, "refused": 3.0, "unknown": 2.0, "new": 0.0}
    for name, age_s in ages.items():
        now_s = NOW_S - age_s
        outcome = name if name in OUTCOMES else "opened"
        day_s = 40 * DAY_S * (-1) ** len(name)
        log.write([replace(OPENING, id=name, outcome=outcome, requested_s=NOW_S + day_s)])
    now_s = NOW_S

    assert [(opening.id, round(age_s, 3)) for opening, age_s in log.recent(60)] == [
        ("old", 60),
        ("unknown", 2),
        ("new", 0),
    ]


def test_an_opening_begins_only_when_the_gate_knows_those_of_others(store: PassStore) -> None:
    log = store.openings
    log.write([replace(OPENING, id="north"), replace(OPENING, id="south", gate="south")])
    begun = replace(OPENING, id="begun", text="M456OP199")
    news = log.begin(begun, 60, {"south"}.__contains__)
    assert [opening.id for opening, _ in news] == ["north"]
    assert "begun" not in ids_of(store)
    assert log.begin(begun, 60, {"north"}.__contains__) == []

    assert log.recent(60)[-1][0].id == "begun"  # its watcher may die now
    log.write([replace(OPENING, id="begun", outcome="unknown")])
    log.withdraw("begun")  # it has an outcome
    (settled,) = (row for row in log.page(EVERYTHING).openings if row.id == "begun")
    assert settled == replace(OPENING, id="begun", outcome="unknown")


def test_an_opening_that_has_begun_is_withdrawn(store: PassStore) -> None:
    store.openings.begin(OPENING, 60, lambda _: True)
    store.openings.withdraw("one")
    assert ids_of(store) == []


def test_a_person_s_command_counts_when_a_watcher_has_taken_it(store: PassStore) -> None:
    command = replace(OPENING, outcome="requested", person="guard")
    store.openings.write([command])
    assert store.openings.recent(60) == []
    store.commands.take([OPENING.gate], "late")  # its watcher may die now
    assert store.openings.recent(60) == [(replace(command, outcome="begun"), 0.0)]


def test_without_a_store_s_clock_ages_are_by_the_times_of_requests(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening_log, "unix_s", lambda: NOW_S)
    log = OpeningLog(database, tmp_path)
    log.write([replace(OPENING, requested_s=NOW_S - 5)])
    assert log.recent(60) == [(replace(OPENING, requested_s=NOW_S - 5), 5.0)]


def test_openings_wait_in_a_file_and_none_is_lost(
    store: PassStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        block(store.openings, away)
        for opening in make_openings(3):
            store.openings.write([opening])
        assert len((tmp_path / "spool" / FILE).read_bytes().splitlines()) == 3
    store.openings.write([OPENING])

    assert ids_of(store) == ["2", "1", "one", "0"]
    assert (tmp_path / "spool" / FILE).read_bytes() == b""


def test_recent_openings_include_those_that_wait_in_the_file(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        block(store.openings, away)
        store.openings.write([OPENING])
    assert store.openings.recent(60) == [(OPENING, 0.0)]


def test_a_line_that_was_cut_off_is_put_aside_and_the_next_one_kept(
    store: PassStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spool" / FILE).write_bytes(to_line(OPENING) + b'{"gate": "nor')
    with monkeypatch.context() as away:
        block(store.openings, away)
        store.openings.write([replace(OPENING, id="two", requested_s=NOW_S - 1)])
    store.replay_spool()  # the spool of passes brings openings along

    assert ids_of(store) == ["one", "two"]
    assert (tmp_path / "spool" / REJECTED).read_bytes() == b'{"gate": "nor\n'


def test_a_full_disk_is_told(store: PassStore, tmp_path: Path) -> None:
    log = OpeningLog(Database(f"sqlite:///{tmp_path}/none/passes.db"), tmp_path / "none")

    with pytest.raises(StoreUnavailable, match=FILE):
        log.write([OPENING])


@pytest.mark.parametrize(
    ("camera_days", "list_days", "is_kept"),
    [
        pytest.param(None, None, True, id="the-store-keeps-30-days"),
        pytest.param(1, None, False, id="a-camera-has-its-own-time"),
        pytest.param(1, 30, True, id="a-list-precedes-its-camera"),
        pytest.param(None, 1, False, id="a-list-precedes-the-store"),
    ],
)
def test_openings_are_deleted_with_time(
    store: PassStore, camera_days: float | None, list_days: float | None, *, is_kept: bool
) -> None:
    store.configure([Camera("gate", "rtsp://gate", retention_days=camera_days)])
    store.lists.create("residents", retention_days=list_days)
    store.openings.write([OPENING])

    counts = store.delete_expired(NOW_S + 2 * DAY_S)
    assert counts.openings == (0 if is_kept else 1)
    assert bool(store.openings.page(EVERYTHING).openings) == is_kept


def test_deletion_of_a_plate_reaches_openings_everywhere(
    store: PassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(OPENING, id="other", text="A123BC7", entry_text="A123BC7")
    similar = replace(OPENING, id="similar", text="A128BC77")
    store.openings.write([OPENING, similar])
    with monkeypatch.context() as away:
        block(store.openings, away)
        store.openings.write([replace(OPENING, id="waits"), other])

    assert store.delete_plate("A123BC77", REQUESTER).openings == 3
    store.openings.replay()
    assert ids_of(store) == ["other"]
