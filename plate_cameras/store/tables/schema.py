"""The tables of the store, for SQLite and PostgreSQL.

New databases get these; migrations change earlier ones. The number of a deleted row is not reused.
"""

from __future__ import annotations

import sqlalchemy as sa

from plate_cameras.store.tables.columns import (
    DIGEST,
    NUMBER,
    TEXT,
    TIME,
    counters,
    kept_s,
    key,
    list_id,
    not_kept_index,
    numbered_table,
    optional,
    partial_index,
    pass_number,
    required,
    table,
)
from plate_cameras.store.tables.columns import METADATA as METADATA

cameras = table(
    "cameras", key("name", TEXT), *required(sa.JSON, "lists"), *optional(TIME, "retention_days")
)

passes = numbered_table(
    "passes",
    *required(TEXT, "id"),
    sa.Column("camera", TEXT, sa.ForeignKey("cameras.name"), nullable=False),
    *required(TEXT, "progress", "clock", "text", "format", "region_code", "direction"),
    *required(TIME, "first_seen_s", "last_seen_s", "stored_s", "text_score", "speed_widths_s"),
    *required(sa.Integer, "frames"),
    *required(sa.JSON, "candidates", "zones", "crossings", "best"),
    *optional(TIME, "speed_kmh", "speed_error_kmh"),
    *optional(DIGEST, "crop", "frame"),
    kept_s(),
    *optional(sa.BigInteger, "epoch"),
    *optional(TEXT, "run"),
    sa.Index("ix_passes_id", "id", unique=True),
    # With the text in them, SQLite compares texts without reading the rows.
    sa.Index("ix_passes_time", "first_seen_s", "number", "text"),
    sa.Index("ix_passes_camera", "camera", "first_seen_s", "number", "text"),
    sa.Index("ix_passes_region", "region_code", "first_seen_s", "number"),
    sa.Index("ix_passes_text", "text", "first_seen_s", "number"),
    *(sa.Index(f"ix_passes_{name}", name) for name in ("crop", "frame")),
    partial_index("ix_passes_agreed", "progress = 'agreed'", "camera"),
)
"""Passes. `run` names the process that told of a pass first, `epoch` is its lease if it had one."""

joined_passes = table(
    "joined_passes",
    key("id", TEXT),
    pass_number(nullable=False),
    *required(sa.BigInteger, "epoch"),
    sa.Index("ix_joined_passes_pass", "pass_number"),
)
"""Second ids of passes whose vehicles two owners of a camera have seen, each under its lease."""

pass_zones = table(
    "pass_zones",
    pass_number(primary_key=True),
    key("zone", TEXT),
    *required(TIME, "first_seen_s"),
    sa.Index("ix_pass_zones_zone", "zone", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

departures = table(
    "departures", pass_number(primary_key=True), key("site", TEXT), sqlite_with_rowid=False
)
"""Entries at sites whose vehicles have left, as a person says."""

readings = table(
    "readings",
    pass_number(primary_key=True),
    key("position", sa.Integer),
    *required(TIME, "time_s", "score", "sharpness", "weight"),
    *required(TEXT, "text"),
    *required(sa.JSON, "candidates", "box"),
    sa.Column("source", TEXT, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)

lists = table(
    "lists",
    key("id", NUMBER),
    *required(TEXT, "name", "note"),
    *optional(TIME, "retention_days"),
    *required(NUMBER, "revision"),
    *optional(sa.JSON, "groups"),
    *counters("edition", "last_edition", "entries"),
    sa.Index("ix_lists_name", "name", unique=True),
    sqlite_autoincrement=True,
)

list_entries = table(
    "list_entries",
    list_id(),
    key("edition", NUMBER),
    key("text", TEXT),
    *required(TEXT, "note"),
    *optional(TIME, "valid_from_s", "valid_until_s"),
    *required(sa.Integer, "edits"),
    sqlite_with_rowid=False,
)

list_hits = table(
    "list_hits",
    pass_number(primary_key=True),
    list_id(),
    *required(TEXT, "entry_text", "note"),
    *required(sa.Integer, "edits"),
    *required(TIME, "first_seen_s"),
    sa.Index("ix_list_hits_list", "list_id", "first_seen_s", "pass_number"),
    sqlite_with_rowid=False,
)

_WAITING = "state = 'waiting'"
deliveries = numbered_table(
    "deliveries",
    *required(TEXT, "id", "sink"),
    pass_number(nullable=False),
    *required(TEXT, "state"),
    *required(TIME, "created_s", "due_s"),
    *optional(TIME, "finished_s"),
    *required(sa.Integer, "attempts"),
    *required(TEXT, "reason"),
    *required(sa.JSON, "document"),
    kept_s(),
    not_kept_index("deliveries", "kept_s IS NULL AND finished_s IS NOT NULL"),
    sa.Index("ix_deliveries_id", "id", "sink", unique=True),
    sa.Index("ix_deliveries_pass", "pass_number"),
    sa.Index("ix_deliveries_created", "sink", "created_s"),
    sa.Index("ix_deliveries_finished", "finished_s"),
    partial_index("ix_deliveries_due", _WAITING, "sink", "due_s", "number"),
    partial_index("ix_deliveries_order", _WAITING, "sink", "pass_number", "number"),
)

searches = numbered_table(
    "searches",
    *required(TIME, "time_s"),
    *required(TEXT, "who", "why", "kind"),
    *required(sa.JSON, "query"),
    *required(sa.Integer, "count"),
    kept_s(),
    *optional(sa.JSON, "groups"),
    not_kept_index("searches"),
    sa.Index("ix_searches_time", "time_s"),
)

pushed_pictures = numbered_table(
    "pushed_pictures",
    *required(TEXT, "camera", "text", "clock"),
    *required(DIGEST, "digest"),
    *required(TIME, "time_s", "received_s", "score"),
    *optional(sa.LargeBinary, "jpeg"),
    kept_s(),
    not_kept_index("pushed_pictures"),
    sa.Index("ix_pushed_pictures_digest", "camera", "digest", unique=True),
    partial_index("ix_pushed_pictures_waiting", "jpeg IS NOT NULL", "camera", "number"),
)
"""Pictures that cameras have sent. Of those that were read, the digest stays for a day."""

picture_removals = table("picture_removals", key("digest", DIGEST))

pass_changes = numbered_table(
    "pass_changes",
    pass_number(nullable=False),
    *required(TEXT, "kind"),
    *required(TIME, "time_s"),
    kept_s(),
    sa.Index("ix_pass_changes_pass", "pass_number"),
    sa.Index("ix_pass_changes_time", "time_s"),
)

camera_states = table(
    "camera_states",
    key("camera", TEXT),
    *required(TEXT, "watcher"),
    *required(TIME, "updated_s"),
    *required(sa.JSON, "document"),
    kept_s(),
)

camera_stills = table(
    "camera_stills",
    key("camera", TEXT),
    *required(TIME, "time_s"),
    *required(sa.LargeBinary, "jpeg"),
    kept_s(),
)

camera_areas = table(
    "camera_areas",
    key("camera", TEXT),
    *required(NUMBER, "revision"),
    *required(TIME, "changed_s"),
    *required(TEXT, "changed_by"),
    *required(sa.JSON, "zones", "lines", "masks"),
)
"""Zones, lines and masks that were drawn in the control room; they replace those of the file."""

gate_openings = numbered_table(
    "gate_openings",
    *required(
        TEXT, "id", "gate", "camera", "pass_id", "text", "list", "entry_text", "outcome", "reason"
    ),
    *required(TIME, "requested_s"),
    *optional(TIME, "delay_s"),
    *(sa.Column(name, TEXT, nullable=False, server_default="") for name in ("person", "remark")),
    kept_s(),
    not_kept_index("gate_openings"),
    partial_index("ix_gate_openings_requested", "outcome = 'requested'", "gate"),
    sa.Index("ix_gate_openings_id", "id", unique=True),
    sa.Index("ix_gate_openings_time", "requested_s", "number"),
    sa.Index("ix_gate_openings_pass", "pass_id"),
    sa.Index("ix_gate_openings_text", "text"),
    sa.Index("ix_gate_openings_entry", "entry_text"),
)

people = table(
    "people",
    key("name", TEXT),
    *required(TEXT, "password_hash", "role"),
    *required(sa.JSON, "groups"),
    *required(TIME, "created_s"),
    *required(sa.Boolean, "is_disabled"),
)

sessions = table(
    "sessions",
    key("token_digest", DIGEST),
    sa.Column("person", TEXT, sa.ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
    *required(TIME, "created_s", "expires_s"),
    *optional(TIME, "kept_until_s"),
    sa.Index("ix_sessions_person", "person"),
    sa.Index("ix_sessions_expires", "expires_s"),
)

login_attempts = table(
    "login_attempts",
    key("subject", DIGEST),
    *required(TIME, "used_until_s"),
    sa.Index("ix_login_attempts_used", "used_until_s"),
)
"""Failed logins by hashed name and by hashed address, as the time until which they count."""

camera_leases = table(
    "camera_leases",
    key("camera", TEXT),
    *required(TEXT, "watcher"),
    *required(sa.BigInteger, "epoch"),
    *required(TIME, "taken_s", "expires_s"),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
    sa.Index("ix_camera_leases_watcher", "watcher"),
)
"""The watcher that follows each camera; none after it was given back. Each renewal changes `beat`.
`epoch` grows with each change of owner. The times are the database's, and decide nothing."""

watchers = table(
    "watchers",
    key("name", TEXT),
    *required(TIME, "seen_s"),
    sa.Column("beat", sa.BigInteger, nullable=False, server_default="0"),
)

store_clock = table(
    "store_clock",
    key("boot", TEXT),
    *required(TIME, "value_s", "wall_s", "steady_s", "settled_s"),
    *optional(TIME, "off_value_s", "off_wall_s", "other_s"),
)
"""One mark of the store's clock for each boot of each machine."""

erasures = numbered_table(
    "erasures",
    *required(sa.LargeBinary, "salt", "digest"),
    *required(TIME, "erased_s", "kept_s"),
    *required(sa.Boolean, "is_done"),
)
"""Deletions of plates within the last day, by salted digests of the texts."""

erased_passes = table("erased_passes", key("id", TEXT), *required(TIME, "kept_s"))

picture_rounds = table("picture_rounds", key("id", sa.Integer), *required(NUMBER, "number"))
"""A table of one row with the number of removals of pictures."""

change_horizon = table("change_horizon", key("name", TEXT), *required(NUMBER, "number"))
"""The highest number of a change that was deleted for its age, in one row."""
