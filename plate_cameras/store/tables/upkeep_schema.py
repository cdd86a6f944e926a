"""The tables by which watchers divide cameras, tell the time, and remember what is deleted."""

from __future__ import annotations

import sqlalchemy as sa

from plate_cameras.store.tables.schema import METADATA, NUMBER, TEXT, TIME

camera_leases = sa.Table(
    "camera_leases",
    METADATA,
    sa.Column("camera", TEXT, primary_key=True),
    sa.Column("watcher", TEXT, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("taken_s", TIME, nullable=False),
    sa.Column("expires_s", TIME, nullable=False),
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
    sa.Column("value_s", TIME, nullable=False),
    sa.Column("wall_s", TIME, nullable=False),
    sa.Column("steady_s", TIME, nullable=False),
    sa.Column("settled_s", TIME, nullable=False),
    sa.Column("off_value_s", TIME),
    sa.Column("off_wall_s", TIME),
    sa.Column("other_s", TIME),
)
"""One mark of the store's clock for each boot of each machine."""

erasures = sa.Table(
    "erasures",
    METADATA,
    sa.Column("number", NUMBER, primary_key=True),
    sa.Column("salt", sa.LargeBinary, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("erased_s", TIME, nullable=False),
    sa.Column("kept_s", TIME, nullable=False),
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
"""One row: how often pictures were removed."""

change_horizon = sa.Table(
    "change_horizon",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("number", NUMBER, nullable=False),
)
"""The highest number of a change that was deleted for its age, in one row."""
