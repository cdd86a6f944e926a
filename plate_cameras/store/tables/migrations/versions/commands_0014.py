"""Openings of gates name the person who opened one, and the person's reason."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.schema import gate_openings

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns, and the index of commands that wait."""
    for name in ("person", "remark"):
        kind = gate_openings.c[name].type
        op.add_column(gate_openings.name, sa.Column(name, kind, nullable=False, server_default=""))
    (index,) = (
        index for index in gate_openings.indexes if index.name == "ix_gate_openings_requested"
    )
    index.create(op.get_bind())
