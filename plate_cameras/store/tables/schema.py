"""The tables of the store, for SQLite and PostgreSQL.

New databases get these tables; migrations change those of earlier versions. No number of a row
comes again after the row was deleted: others remember it.
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


def _required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    """Return columns of one type that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _kept() -> sa.Column[float]:
    """Return the column of the time from which a row's age counts by the store's clock.

    Retention gives it to rows that have none. So nothing is older by it than it is.
    """
    return sa.Column("kept_s", TIME)


def _partial(name: str, condition: str, *columns: str) -> sa.Index:
    """Return an index of the rows for which a condition holds."""
    where = sa.text(condition)
    return sa.Index(name, *columns, sqlite_where=where, postgresql_where=where)


def _not_kept(table: str, condition: str = "kept_s IS NULL") -> sa.Index:
    return _partial(f"ix_{table}_not_kept", condition, "number")


def _pass_number(**options: Any) -> sa.Column[int]:
    return sa.Column(
        "pass_number", NUMBER, sa.ForeignKey("passes.number", ondelete="CASCADE"), **options
    )


def _list_id() -> sa.Column[int]:
    on_list = sa.ForeignKey("lists.id", ondelete="CASCADE")
    return sa.Column("list_id", NUMBER, on_list, primary_key=True)


cameras = sa.Table(
    "cameras",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("lists", sa.JSON, nullable=False),
    sa.Column("retention_days", TIME),
)

passes = sa.Table(
    "passes",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("id", TEXT, nullable=False),
    sa.Column("camera", TEXT, sa.ForeignKey("cameras.name"), nullable=False),
    *_required(TEXT, "progress", "clock", "text", "format", "region_code", "direction"),
    *_required(TIME, "first_seen_s", "last_seen_s", "stored_s", "text_score", "speed_widths_s"),
    sa.Column("frames", sa.Integer, nullable=False),
    *_required(sa.JSON, "candidates", "zones", "crossings", "best"),
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
    _partial("ix_passes_agreed", "progress = 'agreed'", "camera"),
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
    *_required(TIME, "time_s", "score", "sharpness", "weight"),
    sa.Column("text", TEXT, nullable=False),
    *_required(sa.JSON, "candidates", "box"),
    sqlite_with_rowid=False,
)

lists = sa.Table(
    "lists",
    METADATA,
    sa.Column("id", NUMBER, primary_key=True),
    *_required(TEXT, "name", "note"),
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
    _list_id(),
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
    _list_id(),
    *_required(TEXT, "entry_text", "note"),
    sa.Column("edits", sa.Integer, nullable=False),
    sa.Column("first_seen_s", TIME, nullable=False),
    sa.Index("ix_list_hits_list", "list_id", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

_WAITING = "state = 'waiting'"
deliveries = sa.Table(
    "deliveries",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    *_required(TEXT, "id", "sink"),
    _pass_number(nullable=False),
    sa.Column("state", TEXT, nullable=False),
    *_required(TIME, "created_s", "due_s"),
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
    _partial("ix_deliveries_due", _WAITING, "sink", "due_s", "number"),
    _partial("ix_deliveries_order", _WAITING, "sink", "pass_number", "number"),
    sqlite_autoincrement=True,
)

searches = sa.Table(
    "searches",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("time_s", TIME, nullable=False),
    *_required(TEXT, "who", "why", "kind"),
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
    *_required(sa.JSON, "zones", "lines", "masks"),
)
"""Zones, lines and masks that were drawn in the control room; they replace those of the file."""

gate_openings = sa.Table(
    "gate_openings",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    *_required(
        TEXT, "id", "gate", "camera", "pass_id", "text", "list", "entry_text", "outcome", "reason"
    ),
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


people = sa.Table(
    "people",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    *_required(TEXT, "password_hash", "role"),
    sa.Column("groups", sa.JSON, nullable=False),
    sa.Column("created_s", TIME, nullable=False),
    sa.Column("is_disabled", sa.Boolean, nullable=False),
)

sessions = sa.Table(
    "sessions",
    METADATA,
    sa.Column("token_digest", DIGEST, primary_key=True),
    sa.Column("person", TEXT, sa.ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
    *_required(TIME, "created_s", "expires_s"),
    sa.Column("kept_until_s", TIME),
    sa.Index("ix_sessions_person", "person"),
    sa.Index("ix_sessions_expires", "expires_s"),
)

login_attempts = sa.Table(
    "login_attempts",
    METADATA,
    sa.Column("subject", DIGEST, primary_key=True),
    sa.Column("used_until_s", TIME, nullable=False),
    sa.Index("ix_login_attempts_used", "used_until_s"),
)
"""Failed logins by hashed name and by hashed address, as the time until which they count."""


camera_leases = sa.Table(
    "camera_leases",
    METADATA,
    sa.Column("camera", TEXT, primary_key=True),
    sa.Column("watcher", TEXT, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    *_required(TIME, "taken_s", "expires_s"),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ix_camera_leases_watcher", "watcher"),
)
"""The watcher that follows each camera; none after it was given back. Each renewal changes `beat`.
`epoch` grows with each change of owner. The times are the database's, and decide nothing."""

watchers = sa.Table(
    "watchers",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("seen_s", TIME, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
)

store_clock = sa.Table(
    "store_clock",
    METADATA,
    sa.Column("boot", TEXT, primary_key=True),
    *_required(TIME, "value_s", "wall_s", "steady_s", "settled_s"),
    sa.Column("off_value_s", TIME),
    sa.Column("off_wall_s", TIME),
    sa.Column("other_s", TIME),
)
"""One mark of the store's clock for each boot of each machine."""

erasures = sa.Table(
    "erasures",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    *_required(sa.LargeBinary, "salt", "digest"),
    *_required(TIME, "erased_s", "kept_s"),
    sa.Column("is_done", sa.Boolean, nullable=False),
    sqlite_autoincrement=True,
)
"""Deletions of plates within the last day, by salted digests of the texts."""

erased_passes = sa.Table(
    "erased_passes",
    METADATA,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("kept_s", TIME, nullable=False),
)

picture_rounds = sa.Table(
    "picture_rounds",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("number", NUMBER, nullable=False),
)
"""A table of one row with the number of removals of pictures."""

change_horizon = sa.Table(
    "change_horizon",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("number", NUMBER, nullable=False),
)
"""The highest number of a change that was deleted for its age, in one row."""
