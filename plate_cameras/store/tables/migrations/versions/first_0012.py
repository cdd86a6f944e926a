"""The first revision. New databases get its tables from `schema`, and it changes nothing."""

revision = "0012"
down_revision = None


def upgrade() -> None:
    """Change nothing."""
