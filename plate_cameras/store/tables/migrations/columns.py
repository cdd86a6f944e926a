"""The columns' types as the migrations use them; they do not follow later changes of the tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME: sa.Double[float] = sa.Double()
DIGEST = sa.LargeBinary(32)


def pass_number(**options: Any) -> sa.Column[int]:
    """Return the column that says to which pass a row belongs."""
    return sa.Column(
        "pass_number", NUMBER, sa.ForeignKey("passes.number", ondelete="CASCADE"), **options
    )
