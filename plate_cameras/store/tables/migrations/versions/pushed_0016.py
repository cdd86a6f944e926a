"""Pictures that cameras send by themselves, and readings of cameras beside ours."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.schema import pushed_pictures, readings

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the table, and the source of readings."""
    kind = readings.c.source.type
    op.add_column(readings.name, sa.Column("source", kind, nullable=False, server_default=""))
    pushed_pictures.create(op.get_bind())
