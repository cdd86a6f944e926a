"""The tables of the store, for SQLite and PostgreSQL.

New databases get these tables; migrations change those of earlier versions. No number of a row comes
again after the row was deleted: others remember it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

METADATA = sa.MetaData()
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite numbers only rows of the type INTEGER by itself."""
TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
"""A text that sorts by its code points in both databases, so that prefixes are ranges."""
TIME: sa.Double[float] = sa.Double()
DIGEST = sa.LargeBinary(32)


def _kept() -> sa.Column[float]:
    """Return the column of the time from which a row's age counts by the store's clock.

    Retention gives it to rows that have none. So nothing is older by it than it is.
    """
    return sa.Column("kept_s", TIME)


def _not_kept(table: str, condition: str = "kept_s IS NULL") -> sa.Index:
    where = sa.text(condition)
    name = f"ix_{table}_not_kept"
    return sa.Index(name, "number", sqlite_where=where, postgresql_where=where)


def _pass_number(**options: Any) -> sa.Column[int]:
    return sa.Column(
        "pass_number", NUMBER, sa.ForeignKey("passes.number", ondelete="CASCADE"), **options
    )


cameras = sa.Table(
    "cameras",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("lists", sa.JSON, nullable=False),
    sa.Column("retention_days", TIME),
)

_IS_AGREED = sa.text("progress = 'agreed'")
passes = sa.Table(
    "passes",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("id", TEXT, nullable=False),
    sa.Column("camera", TEXT, sa.ForeignKey("cameras.name"), nullable=False),
    sa.Column("progress", TEXT, nullable=False),
    sa.Column("clock", TEXT, nullable=False),
    sa.Column("first_seen_s", TIME, nullable=False),
    sa.Column("last_seen_s", TIME, nullable=False),
    sa.Column("stored_s", TIME, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("text_score", TIME, nullable=False),
    sa.Column("format", TEXT, nullable=False),
    sa.Column("region_code", TEXT, nullable=False),
    sa.Column("direction", TEXT, nullable=False),
    sa.Column("speed_widths_s", TIME, nullable=False),
    sa.Column("frames", sa.Integer, nullable=False),
    sa.Column("candidates", sa.JSON, nullable=False),
    sa.Column("zones", sa.JSON, nullable=False),
    sa.Column("crossings", sa.JSON, nullable=False),
    sa.Column("best", sa.JSON, nullable=False),
    sa.Column("crop", DIGEST),
    sa.Column("frame", DIGEST),
    _kept(),
    sa.Column("epoch", sa.BigInteger),
    sa.Column("run", TEXT),
    sa.Index("ix_passes_id", "id", unique=True),
    # With the text in them, SQLite compares texts without reading the rows.
    sa.Index("ix_passes_time", "first_seen_s", "number", "text"),
    sa.Index("ix_passes_camera", "camera", "first_seen_s", "number", "text"),
    sa.Index("ix_passes_region", "region_code", "first_seen_s", "number"),
    sa.Index("ix_passes_text", "text", "first_seen_s", "number"),
    sa.Index("ix_passes_crop", "crop"),
    sa.Index("ix_passes_frame", "frame"),
    sa.Index("ix_passes_agreed", "camera", sqlite_where=_IS_AGREED, postgresql_where=_IS_AGREED),
    sqlite_autoincrement=True,
)
"""Passes. `run` names the process that told of a pass first, `epoch` is its lease if it had one."""

joined_passes = sa.Table(
    "joined_passes",
    METADATA,
    sa.Column("id", TEXT, primary_key=True),
    _pass_number(nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Index("ix_joined_passes_pass", "pass_number"),
)
"""Second ids of passes whose vehicles two owners of a camera have seen, each under its lease."""

pass_zones = sa.Table(
    "pass_zones",
    METADATA,
    _pass_number(primary_key=True),
    sa.Column("zone", TEXT, primary_key=True),
    sa.Column("first_seen_s", TIME, nullable=False),
    sa.Index("ix_pass_zones_zone", "zone", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

readings = sa.Table(
    "readings",
    METADATA,
    _pass_number(primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("time_s", TIME, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("score", TIME, nullable=False),
    sa.Column("candidates", sa.JSON, nullable=False),
    sa.Column("box", sa.JSON, nullable=False),
    sa.Column("sharpness", TIME, nullable=False),
    sa.Column("weight", TIME, nullable=False),
    sqlite_with_rowid=False,
)

lists = sa.Table(
    "lists",
    METADATA,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("note", TEXT, nullable=False),
    sa.Column("retention_days", TIME),
    sa.Column("revision", NUMBER, nullable=False),
    sa.Column("groups", sa.JSON),
    sa.Column("edition", NUMBER, nullable=False, server_default="0"),
    sa.Column("last_edition", NUMBER, nullable=False, server_default="0"),
    sa.Column("entries", NUMBER, nullable=False, server_default="0"),
    sa.Index("ix_lists_name", "name", unique=True),
    sqlite_autoincrement=True,
)

list_entries = sa.Table(
    "list_entries",
    METADATA,
    sa.Column("list_id", NUMBER, sa.ForeignKey("lists.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("edition", NUMBER, primary_key=True),
    sa.Column("text", TEXT, primary_key=True),
    sa.Column("note", TEXT, nullable=False),
    sa.Column("valid_from_s", TIME),
    sa.Column("valid_until_s", TIME),
    sa.Column("edits", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

list_hits = sa.Table(
    "list_hits",
    METADATA,
    _pass_number(primary_key=True),
    sa.Column("list_id", NUMBER, sa.ForeignKey("lists.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("entry_text", TEXT, nullable=False),
    sa.Column("note", TEXT, nullable=False),
    sa.Column("edits", sa.Integer, nullable=False),
    sa.Column("first_seen_s", TIME, nullable=False),
    sa.Index("ix_list_hits_list", "list_id", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

_WAITING = sa.text("state = 'waiting'")
deliveries = sa.Table(
    "deliveries",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("id", TEXT, nullable=False),
    sa.Column("sink", TEXT, nullable=False),
    _pass_number(nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("created_s", TIME, nullable=False),
    sa.Column("due_s", TIME, nullable=False),
    sa.Column("finished_s", TIME),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("document", sa.JSON, nullable=False),
    _kept(),
    _not_kept("deliveries", "kept_s IS NULL AND finished_s IS NOT NULL"),
    sa.Index("ix_deliveries_id", "id", "sink", unique=True),
    sa.Index("ix_deliveries_pass", "pass_number"),
    sa.Index("ix_deliveries_created", "sink", "created_s"),
    sa.Index("ix_deliveries_finished", "finished_s"),
    sa.Index(
        "ix_deliveries_due",
        *("sink", "due_s", "number"),
        sqlite_where=_WAITING,
        postgresql_where=_WAITING,
    ),
    sa.Index(
        "ix_deliveries_order",
        *("sink", "pass_number", "number"),
        sqlite_where=_WAITING,
        postgresql_where=_WAITING,
    ),
    sqlite_autoincrement=True,
)

searches = sa.Table(
    "searches",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("time_s", TIME, nullable=False),
    sa.Column("who", TEXT, nullable=False),
    sa.Column("why", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("query", sa.JSON, nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
    _kept(),
    sa.Column("groups", sa.JSON),
    _not_kept("searches"),
    sa.Index("ix_searches_time", "time_s"),
    sqlite_autoincrement=True,
)

picture_removals = sa.Table(
    "picture_removals",
    METADATA,
    sa.Column("digest", DIGEST, primary_key=True),
)

pass_changes = sa.Table(
    "pass_changes",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    _pass_number(nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("time_s", TIME, nullable=False),
    _kept(),
    sa.Index("ix_pass_changes_pass", "pass_number"),
    sa.Index("ix_pass_changes_time", "time_s"),
    sqlite_autoincrement=True,
)

camera_states = sa.Table(
    "camera_states",
    METADATA,
    sa.Column("camera", TEXT, primary_key=True),
    sa.Column("watcher", TEXT, nullable=False),
    sa.Column("updated_s", TIME, nullable=False),
    sa.Column("document", sa.JSON, nullable=False),
    _kept(),
)

camera_stills = sa.Table(
    "camera_stills",
    METADATA,
    sa.Column("camera", TEXT, primary_key=True),
    sa.Column("time_s", TIME, nullable=False),
    sa.Column("jpeg", sa.LargeBinary, nullable=False),
    _kept(),
)

camera_areas = sa.Table(
    "camera_areas",
    METADATA,
    sa.Column("camera", TEXT, primary_key=True),
    sa.Column("revision", NUMBER, nullable=False),
    sa.Column("changed_s", TIME, nullable=False),
    sa.Column("changed_by", TEXT, nullable=False),
    sa.Column("zones", sa.JSON, nullable=False),
    sa.Column("lines", sa.JSON, nullable=False),
    sa.Column("masks", sa.JSON, nullable=False),
)
"""Zones, lines and masks that were drawn in the control room; they replace those of the file."""

gate_openings = sa.Table(
    "gate_openings",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("id", TEXT, nullable=False),
    sa.Column("gate", TEXT, nullable=False),
    sa.Column("camera", TEXT, nullable=False),
    sa.Column("pass_id", TEXT, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("list", TEXT, nullable=False),
    sa.Column("entry_text", TEXT, nullable=False),
    sa.Column("outcome", TEXT, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("requested_s", TIME, nullable=False),
    sa.Column("delay_s", TIME),
    _kept(),
    _not_kept("gate_openings"),
    sa.Index("ix_gate_openings_id", "id", unique=True),
    sa.Index("ix_gate_openings_time", "requested_s", "number"),
    sa.Index("ix_gate_openings_pass", "pass_id"),
    sa.Index("ix_gate_openings_text", "text"),
    sa.Index("ix_gate_openings_entry", "entry_text"),
    sqlite_autoincrement=True,
)

pass_texts = sa.table("pass_texts", sa.column("number", NUMBER), sa.column("text", sa.String))
"""The texts of passes, for parts and edits. Triggers keep it up to date. In PostgreSQL it is a
narrow table with a trigram index. In SQLite it is a trigram index by itself, whose texts stand
between `^` and `$`, and `number` is its `rowid`."""
