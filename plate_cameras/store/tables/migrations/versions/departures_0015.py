"""People say that vehicles have left a site."""

from alembic import op

from plate_cameras.store.tables.schema import departures

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the table."""
    departures.create(op.get_bind())
