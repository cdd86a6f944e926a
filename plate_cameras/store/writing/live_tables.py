"""The present of cameras for the control room: states and their age, stills and drawn areas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from threading import Lock
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import build, show
from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.configuration import Camera, Line, Zone, check_unique
from plate_cameras.setting_parts import check_sizes
from plate_cameras.store.erasing import erasures
from plate_cameras.store.errors import UnknownName
from plate_cameras.store.finding.pass_query import Requester
from plate_cameras.store.people import audit
from plate_cameras.store.tables.database import Database, new_revision, upsert
from plate_cameras.store.tables.schema import camera_areas, camera_states, camera_stills


@dataclass(frozen=True)
class CameraState:
    """The state of a camera as its watcher has reported it.

    Attributes:
        updated_s: Unix time.
        document: The fields of `CameraStatus`.
    """

    camera: str
    watcher: str
    updated_s: float
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Still:
    """A picture of a camera.

    Attributes:
        time_s: Unix time of the frame.
    """

    camera: str
    time_s: float
    jpeg: bytes = field(repr=False)


@dataclass(frozen=True)
class Areas:
    """The zones, lines and masks of a camera."""

    zones: tuple[Zone, ...] = ()
    lines: tuple[Line, ...] = ()
    masks: tuple[Zone, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self)
        check_unique("zone", [zone.name for zone in self.zones])
        check_unique("line", [line.name for line in self.lines])

    @classmethod
    def of(cls, camera: Camera) -> Areas:
        """Return those of a camera's configuration."""
        return cls(camera.zones, camera.lines, camera.masks)


@dataclass(frozen=True)
class DrawnAreas:
    """Areas that were drawn in the control room.

    Attributes:
        revision: A number that each change replaces, and that never comes again.
        changed_s: Unix time of the last change.
        problem: Why this version cannot read them; empty if it can. Then those of the file count.
    """

    areas: Areas
    revision: int
    changed_s: float
    changed_by: str
    problem: str = ""


def draw_on(cameras: Sequence[Camera], drawn: Mapping[str, DrawnAreas]) -> tuple[Camera, ...]:
    """Return cameras with their drawn areas, by the cameras' names, in the place of their own."""
    return tuple(
        replace(camera, **vars(drawn[camera.name].areas))
        if camera.name in drawn and not drawn[camera.name].problem
        else camera
        for camera in cameras
    )


LAST_TEXT = "last_text"
"""The field of a state's document that has a plate's text."""
STATE = [camera_states.c[name] for name in ("camera", "watcher", "updated_s")]
DRAWN = [camera_areas.c[name] for name in ("camera", "revision", "changed_s", "changed_by")]
STILL = [camera_stills.c[name] for name in Still.__dataclass_fields__]


def _as_text(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    """Return a column of JSON as its text: of a query, one damaged row would fail all others."""
    return sa.cast(column, sa.Text).label(column.name)


AREAS = [_as_text(camera_areas.c[name]) for name in Areas.__dataclass_fields__]


class LiveTables:
    """The tables of states, stills and areas.

    Args:
        clock: Returns the Unix time.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def write_states(self, states: Sequence[CameraState]) -> list[str]:
        """Replace the states of cameras, in one transaction.

        The text of a plate that was deleted lately is left out.

        Returns:
            The names of cameras whose watcher still has such a text.
        """
        rows = [{**vars(state), "document": dict(state.document)} for state in states]
        if not rows:
            return []
        with self._database.writing() as connection:
            texts = {str(row["document"].get(LAST_TEXT, "")) for row in rows}
            erased_texts = erasures.find_erased(connection, texts)
            stale_rows = [row for row in rows if row["document"].get(LAST_TEXT) in erased_texts]
            for row in stale_rows:
                row["document"][LAST_TEXT] = ""
            _replace(connection, camera_states, rows)
        return [str(row["camera"]) for row in stale_rows]

    def write_stills(self, stills: Sequence[Still]) -> None:
        """Replace the stills of cameras, in one transaction."""
        if stills:
            with self._database.writing() as connection:
                _replace(connection, camera_stills, [vars(still) for still in stills])

    def states(self) -> dict[str, CameraState]:
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*STATE, _as_text(camera_states.c.document)))
            return {row.camera: _to_state(row) for row in rows}

    def still_times(self) -> dict[str, float]:
        """Return the Unix times of the stills by the names of the cameras."""
        columns = (camera_stills.c.camera, camera_stills.c.time_s)
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*columns))
            return {row.camera: row.time_s for row in rows}

    def still(self, camera: str) -> Still:
        """Return the last still of a camera.

        Raises:
            UnknownName: There is none.
        """
        statement = sa.select(*STILL).where(camera_stills.c.camera == camera)
        with self._database.reading() as connection:
            row = connection.execute(statement).mappings().first()
        if row is None:
            raise UnknownName(f"there is no still of camera {camera!r} yet")
        return Still(**row)

    def areas(self) -> dict[str, DrawnAreas]:
        """Return the drawn areas by the names of the cameras."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*DRAWN, *AREAS)).mappings().all()
        return {row["camera"]: _to_drawn_areas(row) for row in rows}

    def area_versions(self) -> dict[str, tuple[int, float]]:
        """Return revision and time of all drawn areas: a small answer that shows changes."""
        columns = (camera_areas.c.camera, camera_areas.c.revision, camera_areas.c.changed_s)
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*columns))
            return {name: (revision, time_s) for name, revision, time_s in rows}

    def draw(self, camera: str, areas: Areas, requester: Requester) -> None:
        """Put areas in the place of those that the configuration has."""
        row: dict[str, Any] = {"camera": camera, "revision": new_revision()}
        row |= {"changed_s": self._clock(), "changed_by": requester.who}
        row |= {name: _to_json(getattr(areas, name)) for name in ("zones", "lines", "masks")}
        with self._database.writing() as connection:
            upsert(connection, camera_areas, [row], "camera")
            self._record(connection, requester, "draw areas", camera)

    def erase(self, camera: str, requester: Requester) -> None:
        """Go back to the areas of the configuration."""
        with self._database.writing() as connection:
            connection.execute(sa.delete(camera_areas).where(camera_areas.c.camera == camera))
            self._record(connection, requester, "erase areas", camera)

    def _record(
        self, connection: sa.Connection, requester: Requester, kind: str, camera: str
    ) -> None:
        now_s = self._clock()
        audit.record(connection, requester, kind, {"camera": camera}, count=1, now_s=now_s)


def _replace(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    # All writers lock the rows in the same order. Retention gives them the store's time again.
    sorted_rows = sorted(rows, key=lambda row: str(row["camera"]))
    upsert(connection, table, [{**row, "kept_s": None} for row in sorted_rows], "camera")


def _to_json(areas: Sequence[Zone | Line]) -> list[dict[str, Any]]:
    return [asdict(area) for area in areas]


def _to_state(row: Any) -> CameraState:
    """Return the state of a row, which a later version may have written."""
    try:
        document = json.loads(row.document)
        if not isinstance(document, dict):
            raise ValueError(f"wanted a table, got {show(document)}")
    except ValueError as error:
        document = {"error": f"its state cannot be read by this version: {error}"}
    return CameraState(row.camera, row.watcher, row.updated_s, document)


def _to_drawn_areas(row: Mapping[Any, Any]) -> DrawnAreas:
    """Return the areas of a row, which a later version may have written."""
    areas, problem = Areas(), ""
    try:
        areas = build(Areas, {area.name: json.loads(row[area.name]) for area in AREAS})
    except (SettingsError, ValueError) as error:
        problem = f"its drawn areas are not used, because this version cannot read them: {error}"
    return DrawnAreas(areas, row["revision"], row["changed_s"], row["changed_by"], problem)


TOLD_WITHIN_S = 15.0
"""Watchers write states every two seconds. An older state is not shown."""


@dataclass(frozen=True)
class _Sight:
    """The first sight of a state by the steady clock, and its largest possible age then."""

    updated_s: float
    moment_s: float
    age_s: float


class StateAges:
    """Counts the ages of states from when this process saw them change.

    Only the age of the first state is told by the Unix time.

    Args:
        wall: Returns the Unix time.
    """

    def __init__(
        self, clock: Callable[[], float] = steady_s, wall: Callable[[], float] = unix_s
    ) -> None:
        self._clock, self._wall = clock, wall
        self._sights: dict[str, _Sight] = {}
        self._lock = Lock()

    def fresh(self, states: Mapping[str, CameraState]) -> set[str]:
        now_s = self._clock()
        with self._lock:
            self._sights = {name: self._see(name, state, now_s) for name, state in states.items()}
            return {
                name
                for name, sight in self._sights.items()
                if sight.age_s + now_s - sight.moment_s <= TOLD_WITHIN_S
            }

    def _see(self, name: str, state: CameraState, now_s: float) -> _Sight:
        sight = self._sights.get(name)
        if sight is None:
            age_s = max(0.0, self._wall() - state.updated_s)
            return _Sight(state.updated_s, now_s, age_s)
        is_same = sight.updated_s == state.updated_s
        return sight if is_same else _Sight(state.updated_s, now_s, 0.0)
