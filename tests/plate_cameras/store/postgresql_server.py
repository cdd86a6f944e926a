"""A PostgreSQL server of the tests' own, which does not wait for the disk."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from workshop.benchmarks import postgresql_server
from workshop.benchmarks.postgresql_server import MISSING, SETTINGS, find_programs


@dataclass
class QuickPostgres(postgresql_server.PostgresqlServer):
    """A server without fsync and autovacuum.

    Its own crash loses nothing, because the kernel has the written data. A power cut would lose
    data. Autovacuum would run at any moment and see rows that a test deletes.
    """

    settings: Sequence[str] = (*SETTINGS, "fsync=off", "autovacuum=off")


@contextmanager
def running_postgresql() -> Iterator[QuickPostgres]:
    """Run a new server for the length of a `with` block; skip the test where there is none."""
    programs = find_programs()
    if programs is None:
        pytest.skip(MISSING)
    server = QuickPostgres(programs)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.remove()
