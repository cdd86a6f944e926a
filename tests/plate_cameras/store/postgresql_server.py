"""A PostgreSQL server of the tests' own, which does not wait for the disk."""

from collections.abc import Sequence
from dataclasses import dataclass

from workshop.benchmarks import postgresql_server
from workshop.benchmarks.postgresql_server import MISSING, SETTINGS, find_programs

__all__ = ["MISSING", "QuickPostgresqlServer", "find_programs"]


@dataclass
class QuickPostgresqlServer(postgresql_server.PostgresqlServer):
    """A server without fsync and autovacuum.

    Its own crash loses nothing, because the kernel has the written data. A power cut would lose
    data. Autovacuum would run at any moment and see rows that a test deletes.
    """

    settings: Sequence[str] = (*SETTINGS, "fsync=off", "autovacuum=off")
