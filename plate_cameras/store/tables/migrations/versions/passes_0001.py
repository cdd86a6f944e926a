"""Passes, their zones and readings, and cameras."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import DIGEST, NUMBER, TEXT, TIME, pass_number

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_cameras()
    _create_passes()
    _create_pass_zones()
    _create_readings()


def _create_cameras() -> None:
    op.create_table(
        "cameras",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("lists", sa.JSON, nullable=False),
        sa.Column("retention_days", TIME),
    )


def _create_passes() -> None:
    op.create_table(
        "passes",
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
    )
    op.create_index("ix_passes_id", "passes", ["id"], unique=True)
    op.create_index("ix_passes_time", "passes", ["first_seen_s", "number", "text"])
    op.create_index("ix_passes_camera", "passes", ["camera", "first_seen_s", "number", "text"])
    op.create_index("ix_passes_region", "passes", ["region_code", "first_seen_s", "number"])
    op.create_index("ix_passes_text", "passes", ["text", "first_seen_s", "number"])
    op.create_index("ix_passes_crop", "passes", ["crop"])
    op.create_index("ix_passes_frame", "passes", ["frame"])


def _create_pass_zones() -> None:
    op.create_table(
        "pass_zones",
        pass_number(primary_key=True),
        sa.Column("zone", TEXT, primary_key=True),
        sa.Column("first_seen_s", TIME, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_pass_zones_zone", "pass_zones", ["zone", "first_seen_s", "pass_number"])


def _create_readings() -> None:
    op.create_table(
        "readings",
        pass_number(primary_key=True),
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
