"""Finds a spool for one of several watchers on one machine."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path

from plate_cameras.store.errors import StoreUnavailable
from plate_cameras.store.writing.spool import MAX_BYTES, OWN, Spool, SpoolInUse
from plate_cameras.store.writing.spool_files import ENDING


def open_own_spool(folder: Path, most_bytes: int = MAX_BYTES) -> Spool:
    """Return a spool that no other process has: in a folder, or in one of those below it.

    One with events that a process has left comes first.

    Raises:
        StoreUnavailable: The folders cannot be used.
    """
    try:
        others = sorted(folder.glob(f"{OWN}*"))
        left = [one for one in others if any(one.glob(f"*{ENDING}"))]
    except OSError as error:
        raise StoreUnavailable(f"the spool cannot be used: {error}") from error
    new = (folder / f"{OWN}{number}" for number in count(2))
    for candidate in chain(left, [folder], new):
        spool = Spool(candidate, most_bytes)
        try:
            spool.acquire()
        except SpoolInUse:
            continue
        return spool
    raise AssertionError("there is always another number")
