"""People who log in, their sessions, and logins that failed."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import DIGEST, TEXT, TIME

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("password_hash", TEXT, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("groups", sa.JSON, nullable=False),
        sa.Column("created_s", TIME, nullable=False),
        sa.Column("is_disabled", sa.Boolean, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("token_digest", DIGEST, primary_key=True),
        sa.Column("person", TEXT, sa.ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
        sa.Column("created_s", TIME, nullable=False),
        sa.Column("expires_s", TIME, nullable=False),
    )
    op.create_index("ix_sessions_person", "sessions", ["person"])
    op.create_index("ix_sessions_expires", "sessions", ["expires_s"])
    op.create_table(
        "login_attempts",
        sa.Column("subject", DIGEST, primary_key=True),
        sa.Column("used_until_s", TIME, nullable=False),
    )
    op.create_index("ix_login_attempts_used", "login_attempts", ["used_until_s"])
