"""Deletes what is too old, and everything about a plate on its owner's request.

Both go on after a step that has failed, such as one for which a full disk has no room, and raise
its error at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from plate_cameras.store.erasing import (
    erasures,
    picture_removals,
    plate_requests,
    plate_traces,
    remains,
    retention,
)
from plate_cameras.store.erasing.plate_traces import AllSteps
from plate_cameras.store.erasing.retention import DAY_S, DeletionCounts
from plate_cameras.store.openings.opening_log import OpeningLog
from plate_cameras.store.store_parts import StoreParts
from plate_cameras.store.tables.store_clock import AgeClock, Moment, UnixClock


class Deletions:
    """The deletions of a store.

    Args:
        parts: The parts of the store.
    """

    def __init__(
        self, parts: StoreParts, clock: AgeClock, openings: OpeningLog, *, retention_days: float
    ) -> None:
        self._database, self._pictures = parts.database, parts.pictures
        self._spool, self._openings = parts.writer.spool, openings
        self._wall, self._clock = parts.clock, clock
        self._days, self._audit_days = retention_days, parts.audit_days
        self._swept_s = float("-inf")

    def delete_plate(
        self, text: str, record: Callable[[int], None], *, entries: bool
    ) -> DeletionCounts:
        """Delete everything about one plate; see `PassStore.delete_plate`.

        Args:
            text: The text in Latin look-alikes.
            record: Records the deletion in the audit, with the number of passes.
            entries: True if it is removed from the lists, too.
        """
        database, steps = self._database, AllSteps("deletion of a plate")
        passes, kept_s = plate_requests.select_ids_of(text), self._clock.now_s()
        number = erasures.remember(database, text, passes, self._wall(), kept_s)
        of_plate = (database, text)
        counts = DeletionCounts(
            spooled=steps.run("spool", partial(self._spool.erase, text)),
            passes=steps.run("passes", partial(plate_requests.delete_passes_of, *of_plate)),
            openings=steps.run(
                "gates", partial(plate_requests.delete_openings_of, database, self._openings, text)
            ),
            entries=steps.run("lists", partial(plate_requests.delete_entries_of, *of_plate))
            if entries
            else 0,
        )
        steps.run("audit", lambda: record(counts.passes))
        steps.run("traces", partial(plate_traces.erase_traces, *of_plate))
        pictures = steps.run("pictures", self._remove_pictures)
        is_gone = steps.run("remains", partial(remains.erase_remains, database))
        steps.finish()
        if is_gone:
            erasures.note_done(database, number)
        return replace(counts, pictures=pictures)

    def delete_expired(self, now_s: float) -> DeletionCounts:
        """Delete what is older than it may be; see `PassStore.delete_expired`."""
        is_unix = isinstance(self._clock, UnixClock)
        now = Moment(now_s, None if is_unix else self._clock.now_s())
        database, age, steps = self._database, now.before(DAY_S * self._days), AllSteps("retention")
        if now.kept_s is not None:
            steps.run("times", partial(retention.stamp, database, now.kept_s))
        of_age = (database, now, self._days)
        counts = DeletionCounts(
            passes=steps.run("passes", partial(retention.delete_old_passes, *of_age)),
            deliveries=steps.run(
                "deliveries", partial(retention.delete_old_deliveries, database, now)
            ),
            openings=steps.run("gates", partial(retention.delete_old_openings, *of_age)),
        )
        pictures = steps.run("pictures", self._remove_pictures)
        pictures += steps.run("left pictures", partial(self._sweep_pictures, now))
        steps.run("changes", partial(retention.delete_old_changes, database, now))
        steps.run("states", partial(retention.delete_old_states, *of_age))
        steps.run("sent pictures", partial(retention.delete_old_pushed, *of_age))
        steps.run("spool", partial(self._spool.discard_rejected, age))
        steps.run("rejected gates", partial(self._openings.discard_rejected, age))
        of_audit = now.before(DAY_S * self._audit_days)
        steps.run("audit", partial(retention.delete_searches, database, of_audit))
        steps.run("remains", self._erase_remains)
        steps.finish()
        return replace(counts, pictures=pictures)

    def _erase_remains(self) -> None:
        """Erase what deleted rows leave, also after a deletion of a plate that was interrupted."""
        if erasures.are_unfinished(self._database) and remains.erase_remains(self._database):
            erasures.note_done(self._database)
        remains.erase_sqlite_remains(self._database)
        erasures.forget(self._database, self._clock.now_s())

    def _remove_pictures(self) -> int:
        return picture_removals.remove_pictures(self._database, self._pictures)

    def _sweep_pictures(self, now: Moment) -> int:
        """Remove pictures that a failed write has left, once a day."""
        now_s = now.wall_s if now.kept_s is None else now.kept_s
        if now_s - self._swept_s < DAY_S:
            return 0
        old = self._pictures.old(now.wall_s - DAY_S)
        count = picture_removals.remove_unshown(self._database, self._pictures, old)
        self._swept_s = now_s
        return count
