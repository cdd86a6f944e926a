"""The tables of people who log in."""

from __future__ import annotations

import sqlalchemy as sa

from plate_cameras.store.tables.schema import DIGEST, METADATA, TEXT, TIME

people = sa.Table(
    "people",
    METADATA,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("password_hash", TEXT, nullable=False),
    sa.Column("role", TEXT, nullable=False),
    sa.Column("groups", sa.JSON, nullable=False),
    sa.Column("created_s", TIME, nullable=False),
    sa.Column("is_disabled", sa.Boolean, nullable=False),
)

sessions = sa.Table(
    "sessions",
    METADATA,
    sa.Column("token_digest", DIGEST, primary_key=True),
    sa.Column("person", TEXT, sa.ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
    sa.Column("created_s", TIME, nullable=False),
    sa.Column("expires_s", TIME, nullable=False),
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
