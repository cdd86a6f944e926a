"""Speeds of vehicles on the road, with their errors."""

from alembic import op

from plate_cameras.store.tables.columns import TIME, optional
from plate_cameras.store.tables.schema import passes

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the columns."""
    for column in optional(TIME, "speed_kmh", "speed_error_kmh"):
        op.add_column(passes.name, column)
