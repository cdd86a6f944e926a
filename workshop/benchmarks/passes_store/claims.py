"""How long a claim takes when the outbox holds a million old deliveries."""

from __future__ import annotations

import time
from statistics import median

import sqlalchemy as sa

from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.tables.database import Database
from workshop.benchmarks.passes_store.made_passes import END_S

SINK = "old webhook"
LIMIT = 10
TIMES = 50
FILL = """
    INSERT INTO deliveries (id, sink, pass_number, state, created_s, due_s, finished_s, attempts,
                            reason, document)
    SELECT id || '_closed_0', :sink, number,
           CASE WHEN number % 500 = 0 THEN 'waiting' ELSE 'confirmed' END,
           first_seen_s, first_seen_s, first_seen_s, 0, '', '{}'
    FROM passes WHERE true ON CONFLICT DO NOTHING"""
"""One of 500 deliveries waits."""


def time_claims(store: PassStore, database: Database) -> tuple[str, str]:
    """Return the median and the worst of claims of ten deliveries, ms."""
    with database.writing() as connection:
        connection.execute(sa.text(FILL), {"sink": SINK})
    times = []
    for _ in range(TIMES):
        started = time.perf_counter()
        store.outbox.claim(SINK, LIMIT, END_S + 1, lease_s=3600)
        times.append(1000 * (time.perf_counter() - started))
    return f"{median(times):.1f}", f"{max(times):.1f}"
