"""The tables of the store, for SQLite and PostgreSQL.

New databases get these; migrations change earlier ones. The number of a deleted row is not reused.
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


def _table(name: str, *parts: Any, **options: Any) -> sa.Table:
    return sa.Table(name, METADATA, *parts, **options)


def _numbered(name: str, *parts: Any) -> sa.Table:
    return _table(name, _key("number", NUMBER), *parts, sqlite_autoincrement=True)


def _required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    """Return columns of one type that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def _counters(*names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, NUMBER, nullable=False, server_default="0") for name in names]


def _key(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True)


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


cameras = _table(
    "cameras", _key("name", TEXT), *_required(sa.JSON, "lists"), *_optional(TIME, "retention_days")
)

passes = _numbered(
    "passes",
    *_required(TEXT, "id"),
    sa.Column("camera", TEXT, sa.ForeignKey("cameras.name"), nullable=False),
    *_required(TEXT, "progress", "clock", "text", "format", "region_code", "direction"),
    *_required(TIME, "first_seen_s", "last_seen_s", "stored_s", "text_score", "speed_widths_s"),
    *_required(sa.Integer, "frames"),
    *_required(sa.JSON, "candidates", "zones", "crossings", "best"),
    *_optional(DIGEST, "crop", "frame"),
    _kept(),
    *_optional(sa.BigInteger, "epoch"),
    *_optional(TEXT, "run"),
    sa.Index("ix_passes_id", "id", unique=True),
    # With the text in them, SQLite compares texts without reading the rows.
    sa.Index("ix_passes_time", "first_seen_s", "number", "text"),
    sa.Index("ix_passes_camera", "camera", "first_seen_s", "number", "text"),
    sa.Index("ix_passes_region", "region_code", "first_seen_s", "number"),
    sa.Index("ix_passes_text", "text", "first_seen_s", "number"),
    *(sa.Index(f"ix_passes_{name}", name) for name in ("crop", "frame")),
    _partial("ix_passes_agreed", "progress = 'agreed'", "camera"),
)
"""Passes. `run` names the process that told of a pass first, `epoch` is its lease if it had one."""

joined_passes = _table(
    "joined_passes",
    _key("id", TEXT),
    _pass_number(nullable=False),
    *_required(sa.BigInteger, "epoch"),
    sa.Index("ix_joined_passes_pass", "pass_number"),
)
"""Second ids of passes whose vehicles two owners of a camera have seen, each under its lease."""

pass_zones = _table(
    "pass_zones",
    _pass_number(primary_key=True),
    _key("zone", TEXT),
    *_required(TIME, "first_seen_s"),
    sa.Index("ix_pass_zones_zone", "zone", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

readings = _table(
    "readings",
    _pass_number(primary_key=True),
    _key("position", sa.Integer),
    *_required(TIME, "time_s", "score", "sharpness", "weight"),
    *_required(TEXT, "text"),
    *_required(sa.JSON, "candidates", "box"),
    sa.Column("source", TEXT, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)

lists = _table(
    "lists",
    _key("id", NUMBER),
    *_required(TEXT, "name", "note"),
    *_optional(TIME, "retention_days"),
    *_required(NUMBER, "revision"),
    *_optional(sa.JSON, "groups"),
    *_counters("edition", "last_edition", "entries"),
    sa.Index("ix_lists_name", "name", unique=True),
    sqlite_autoincrement=True,
)

list_entries = _table(
    "list_entries",
    _list_id(),
    _key("edition", NUMBER),
    _key("text", TEXT),
    *_required(TEXT, "note"),
    *_optional(TIME, "valid_from_s", "valid_until_s"),
    *_required(sa.Integer, "edits"),
    sqlite_with_rowid=False,
)

list_hits = _table(
    "list_hits",
    _pass_number(primary_key=True),
    _list_id(),
    *_required(TEXT, "entry_text", "note"),
    *_required(sa.Integer, "edits"),
    *_required(TIME, "first_seen_s"),
    sa.Index("ix_list_hits_list", "list_id", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

_WAITING = "state = 'waiting'"
deliveries = _numbered(
    "deliveries",
    *_required(TEXT, "id", "sink"),
    _pass_number(nullable=False),
    *_required(TEXT, "state"),
    *_required(TIME, "created_s", "due_s"),
    *_optional(TIME, "finished_s"),
    *_required(sa.Integer, "attempts"),
    *_required(TEXT, "reason"),
    *_required(sa.JSON, "document"),
    _kept(),
    _not_kept("deliveries", "kept_s IS NULL AND finished_s IS NOT NULL"),
    sa.Index("ix_deliveries_id", "id", "sink", unique=True),
    sa.Index("ix_deliveries_pass", "pass_number"),
    sa.Index("ix_deliveries_created", "sink", "created_s"),
    sa.Index("ix_deliveries_finished", "finished_s"),
    _partial("ix_deliveries_due", _WAITING, "sink", "due_s", "number"),
    _partial("ix_deliveries_order", _WAITING, "sink", "pass_number", "number"),
)

searches = _numbered(
    "searches",
    *_required(TIME, "time_s"),
    *_required(TEXT, "who", "why", "kind"),
    *_required(sa.JSON, "query"),
    *_required(sa.Integer, "count"),
    _kept(),
    *_optional(sa.JSON, "groups"),
    _not_kept("searches"),
    sa.Index("ix_searches_time", "time_s"),
)

pushed_pictures = _numbered(
    "pushed_pictures",
    *_required(TEXT, "camera", "text", "clock"),
    *_required(DIGEST, "digest"),
    *_required(TIME, "time_s", "received_s", "score"),
    *_optional(sa.LargeBinary, "jpeg"),
    _kept(),
    _not_kept("pushed_pictures"),
    sa.Index("ix_pushed_pictures_digest", "camera", "digest", unique=True),
    _partial("ix_pushed_pictures_waiting", "jpeg IS NOT NULL", "camera", "number"),
)
"""Pictures that cameras have sent. Of those that were read, the digest stays for a day."""

picture_removals = _table("picture_removals", _key("digest", DIGEST))

pass_changes = _numbered(
    "pass_changes",
    _pass_number(nullable=False),
    *_required(TEXT, "kind"),
    *_required(TIME, "time_s"),
    _kept(),
    sa.Index("ix_pass_changes_pass", "pass_number"),
    sa.Index("ix_pass_changes_time", "time_s"),
)

camera_states = _table(
    "camera_states",
    _key("camera", TEXT),
    *_required(TEXT, "watcher"),
    *_required(TIME, "updated_s"),
    *_required(sa.JSON, "document"),
    _kept(),
)

camera_stills = _table(
    "camera_stills",
    _key("camera", TEXT),
    *_required(TIME, "time_s"),
    *_required(sa.LargeBinary, "jpeg"),
    _kept(),
)

camera_areas = _table(
    "camera_areas",
    _key("camera", TEXT),
    *_required(NUMBER, "revision"),
    *_required(TIME, "changed_s"),
    *_required(TEXT, "changed_by"),
    *_required(sa.JSON, "zones", "lines", "masks"),
)
"""Zones, lines and masks that were drawn in the control room; they replace those of the file."""

gate_openings = _numbered(
    "gate_openings",
    *_required(
        TEXT, "id", "gate", "camera", "pass_id", "text", "list", "entry_text", "outcome", "reason"
    ),
    *_required(TIME, "requested_s"),
    *_optional(TIME, "delay_s"),
    *(sa.Column(name, TEXT, nullable=False, server_default="") for name in ("person", "remark")),
    _kept(),
    _not_kept("gate_openings"),
    _partial("ix_gate_openings_requested", "outcome = 'requested'", "gate"),
    sa.Index("ix_gate_openings_id", "id", unique=True),
    sa.Index("ix_gate_openings_time", "requested_s", "number"),
    sa.Index("ix_gate_openings_pass", "pass_id"),
    sa.Index("ix_gate_openings_text", "text"),
    sa.Index("ix_gate_openings_entry", "entry_text"),
)

people = _table(
    "people",
    _key("name", TEXT),
    *_required(TEXT, "password_hash", "role"),
    *_required(sa.JSON, "groups"),
    *_required(TIME, "created_s"),
    *_required(sa.Boolean, "is_disabled"),
)

sessions = _table(
    "sessions",
    _key("token_digest", DIGEST),
    sa.Column("person", TEXT, sa.ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
    *_required(TIME, "created_s", "expires_s"),
    *_optional(TIME, "kept_until_s"),
    sa.Index("ix_sessions_person", "person"),
    sa.Index("ix_sessions_expires", "expires_s"),
)

login_attempts = _table(
    "login_attempts",
    _key("subject", DIGEST),
    *_required(TIME, "used_until_s"),
    sa.Index("ix_login_attempts_used", "used_until_s"),
)
"""Failed logins by hashed name and by hashed address, as the time until which they count."""

camera_leases = _table(
    "camera_leases",
    _key("camera", TEXT),
    *_required(TEXT, "watcher"),
    *_required(sa.BigInteger, "epoch"),
    *_required(TIME, "taken_s", "expires_s"),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ix_camera_leases_watcher", "watcher"),
)
"""The watcher that follows each camera; none after it was given back. Each renewal changes `beat`.
`epoch` grows with each change of owner. The times are the database's, and decide nothing."""

watchers = _table(
    "watchers",
    _key("name", TEXT),
    *_required(TIME, "seen_s"),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
)

store_clock = _table(
    "store_clock",
    _key("boot", TEXT),
    *_required(TIME, "value_s", "wall_s", "steady_s", "settled_s"),
    *_optional(TIME, "off_value_s", "off_wall_s", "other_s"),
)
"""One mark of the store's clock for each boot of each machine."""

erasures = _numbered(
    "erasures",
    *_required(sa.LargeBinary, "salt", "digest"),
    *_required(TIME, "erased_s", "kept_s"),
    *_required(sa.Boolean, "is_done"),
)
"""Deletions of plates within the last day, by salted digests of the texts."""

erased_passes = _table("erased_passes", _key("id", TEXT), *_required(TIME, "kept_s"))

picture_rounds = _table("picture_rounds", _key("id", sa.Integer), *_required(NUMBER, "number"))
"""A table of one row with the number of removals of pictures."""

change_horizon = _table("change_horizon", _key("name", TEXT), *_required(NUMBER, "number"))
"""The highest number of a change that was deleted for its age, in one row."""
