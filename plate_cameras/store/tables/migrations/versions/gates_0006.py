"""Records of gates, with the vehicles that they opened for."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import NUMBER, TEXT, TIME

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "gate_openings",
        sa.Column("number", NUMBER, primary_key=True),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("gate", TEXT, nullable=False),
        sa.Column("camera", TEXT, nullable=False),
        sa.Column("pass_id", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("list", TEXT, nullable=False),
        sa.Column("entry_text", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("requested_s", TIME, nullable=False),
        sa.Column("delay_s", TIME),
    )
    op.create_index("ix_gate_openings_id", "gate_openings", ["id"], unique=True)
    op.create_index("ix_gate_openings_time", "gate_openings", ["requested_s", "number"])
    op.create_index("ix_gate_openings_pass", "gate_openings", ["pass_id"])
    op.create_index("ix_gate_openings_text", "gate_openings", ["text"])
    op.create_index("ix_gate_openings_entry", "gate_openings", ["entry_text"])
