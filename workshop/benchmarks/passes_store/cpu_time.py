"""The CPU time of a search: of this process, and of PostgreSQL's processes on this machine."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from plate_cameras.store.tables.database import Database

BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
NONE_MS = 0.0


class CpuTime:
    """Reads the CPU time that was used so far.

    On a busy machine the time on the clock tells how busy it is. The CPU time stays nearly the
    same.

    Args:
        database: The database. A PostgreSQL server on another machine is not counted.
    """

    def __init__(self, database: Database) -> None:
        self._pids: list[int] = []
        if database.is_postgresql:
            with database.reading() as connection:
                self._pids = [*connection.exec_driver_sql(BACKENDS).scalars()]

    def read_ms(self) -> float:
        return 1000 * time.process_time() + sum(map(_read_ms, self._pids))


def _read_ms(pid: int) -> float:
    """Return the CPU time of a process that has one thread."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
    return NONE_MS
