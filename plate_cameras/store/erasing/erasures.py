"""Remembers for a day which plates were deleted, so that no earlier data of them comes back.

An event of such a plate may still be in a watcher's memory, in the spool of another machine, or in
a pass that is open. It is not stored when it comes. A deletion leaves a salted digest of the text,
never the text, and the ids of the passes that it has deleted.

An event is from before a deletion if its pass was first seen before it, or if its pass was deleted.
A pass that begins later is a new one, and is kept.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import sqlalchemy as sa

from plate_cameras.passes import Observation, Pass
from plate_cameras.store.erasing.picture_removals import lock_writers, note_pictures
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.tables.database import Database, upsert
from plate_cameras.store.tables.schema import erased_passes, erasures, joined_passes, passes
from plate_cameras.store.writing.addressed_events import AddressedEvent

LOG = logging.getLogger(__name__)
KEPT_S = 86400.0
"""Time for which deletions are remembered."""
ALLOWANCE_S = 60.0
"""Passes that began so shortly after a deletion count as earlier ones: the clocks of cameras and
machines differ."""
SALT_BYTES = 16
DIGEST_BYTES = 32
PASSES_AT_ONCE = 500


@dataclass(frozen=True)
class Erasure:
    """A deletion of a plate.

    Attributes:
        salt: Random bytes.
        digest: Digest of the plate's text with them.
        erased_s: Unix time.
    """

    salt: bytes
    digest: bytes
    erased_s: float

    def is_of(self, text: str) -> bool:
        return bool(text) and _digest(self.salt, text) == self.digest


def remember(
    database: Database, text: str, passes_of: sa.Select[tuple[str]], now_s: float, kept_s: float
) -> int:
    """Remember that a plate is deleted. From then on, no earlier data of it is stored.

    Args:
        database: The database.
        text: The plate's text.
        passes_of: Finds the ids of its passes.
        now_s: Unix time.
        kept_s: Time of the store's clock.

    Returns:
        The number of the deletion.
    """
    salt = secrets.token_bytes(SALT_BYTES)
    row = {"salt": salt, "digest": _digest(salt, text), "erased_s": now_s, "kept_s": kept_s}
    with database.writing() as connection:
        lock_writers(connection)  # a writer that has not read this row has committed
        insertion = sa.insert(erasures).values(row | {"is_done": False})
        number = int(connection.execute(insertion.returning(erasures.c.number)).scalar_one())
        second_ids = sa.select(joined_passes.c.id).join_from(joined_passes, passes)
        all_ids = sa.union(passes_of, second_ids.where(passes.c.id.in_(passes_of)))
        ids = connection.execute(all_ids).scalars().all()
        for start in range(0, len(ids), PASSES_AT_ONCE):
            batch = ids[start : start + PASSES_AT_ONCE]
            rows = [{"id": pass_id, "kept_s": kept_s} for pass_id in batch]
            upsert(connection, erased_passes, rows, "id")
    return number


def admit(connection: sa.Connection, events: Sequence[AddressedEvent]) -> list[AddressedEvent]:
    """Return the events that may be stored, without the texts of deleted plates."""
    deletions = read_deletions(connection)
    if not deletions:
        return [*events]
    ids = sorted({event.vehicle_pass.id for event in events})
    statement = sa.select(erased_passes.c.id).where(erased_passes.c.id.in_(ids))
    deleted_ids = {*connection.execute(statement).scalars()}
    admitted_events, dropped_passes = [], []
    for event in events:
        vehicle_pass = event.vehicle_pass
        is_erased = _make_matcher(
            deletions, event.time_s, is_deleted=vehicle_pass.id in deleted_ids
        )
        texts = [vehicle_pass.text] if vehicle_pass.text else _texts_of(vehicle_pass)
        if any(map(is_erased, texts)):
            dropped_passes.append(vehicle_pass)
            LOG.info("pass %s: an event is not kept: its plate was deleted", vehicle_pass.id)
        else:
            pass_event = replace(event.event, vehicle_pass=_erase_from(vehicle_pass, is_erased))
            admitted_events.append(replace(event, event=pass_event))
    note_pictures(connection, dropped_passes)
    return admitted_events


def admit_openings(connection: sa.Connection, openings: Sequence[GateOpening]) -> list[GateOpening]:
    """Return the records of gates that may be stored."""
    deletions = read_deletions(connection)

    def is_kept(opening: GateOpening) -> bool:
        is_erased = _make_matcher(deletions, opening.requested_s)
        return not any(is_erased(str(text)) for text in (opening.text, opening.entry_text))

    return [opening for opening in openings if is_kept(opening)] if deletions else [*openings]


def find_erased(connection: sa.Connection, texts: Iterable[str]) -> set[str]:
    """Return those of some texts that were deleted within the last day."""
    deletions = read_deletions(connection)
    return {text for text in texts if any(deletion.is_of(text) for deletion in deletions)}


def read_deletions(connection: sa.Connection) -> list[Erasure]:
    """Return the deletions that are remembered."""
    columns = erasures.c.salt, erasures.c.digest, erasures.c.erased_s
    return [Erasure(*row) for row in connection.execute(sa.select(*columns))]


def note_done(database: Database, number: int | None = None) -> None:
    """Note that nothing is left of a deletion, or of all."""
    update = sa.update(erasures).values(is_done=True)
    with database.writing() as connection:
        connection.execute(update if number is None else update.where(erasures.c.number == number))


def are_unfinished(database: Database) -> bool:
    """Tell whether a deletion was interrupted by an error."""
    has_unfinished = sa.exists().where(erasures.c.is_done.is_(False))
    with database.reading() as connection:
        return bool(connection.execute(sa.select(has_unfinished)).scalar_one())


def forget(database: Database, kept_s: float) -> None:
    """Forget the finished deletions of more than a day ago, by the store's clock."""
    until_s = kept_s - KEPT_S
    with database.writing() as connection:
        old = sa.and_(erasures.c.kept_s < until_s, erasures.c.is_done.is_(True))
        connection.execute(sa.delete(erasures).where(old))
        connection.execute(sa.delete(erased_passes).where(erased_passes.c.kept_s < until_s))


def _digest(salt: bytes, text: str) -> bytes:
    return hashlib.blake2b(
        text.encode(errors="replace"), digest_size=DIGEST_BYTES, salt=salt
    ).digest()


def _make_matcher(
    deletions: Sequence[Erasure], time_s: float, *, is_deleted: bool = False
) -> Callable[[str], bool]:
    """Return the test whether a text was deleted after a time."""
    later_deletions = [
        deletion for deletion in deletions if is_deleted or time_s < deletion.erased_s + ALLOWANCE_S
    ]
    return cache(lambda text: any(deletion.is_of(text) for deletion in later_deletions))


def _texts_of(vehicle_pass: Pass) -> list[str]:
    return [observation.plate.text for observation in vehicle_pass.observations]


def _erase_from(vehicle_pass: Pass, is_erased: Callable[[str], bool]) -> Pass:
    """Return a pass of another vehicle without the text where frames were misread."""

    def clean(observation: Observation) -> Observation:
        plate = replace(
            observation.plate, candidates=_drop_erased(observation.plate.candidates, is_erased)
        )
        if is_erased(plate.text) or is_erased(plate.raw_text):
            plate = replace(plate, text="", raw_text="", text_score=0.0)
        return replace(observation, plate=plate)

    best = replace(vehicle_pass.best, observation=clean(vehicle_pass.best.observation))
    observations = tuple(map(clean, vehicle_pass.observations))
    candidates = _drop_erased(vehicle_pass.candidates, is_erased)
    return replace(vehicle_pass, candidates=candidates, observations=observations, best=best)


def _drop_erased(
    candidates: tuple[tuple[str, float], ...], is_erased: Callable[[str], bool]
) -> tuple[tuple[str, float], ...]:
    return tuple(candidate for candidate in candidates if not is_erased(candidate[0]))
