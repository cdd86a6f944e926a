"""Ages by two clocks: what is deleted is old by the wall clock and by the store's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa


@dataclass(frozen=True)
class Age:
    """An age from which something is deleted.

    Attributes:
        until_s: Unix time; what is younger stays.
        kept_now_s: The store's time now; None to count by the Unix time alone.
        kept_until_s: The store's time; what is younger stays.
    """

    until_s: float
    kept_now_s: float | None = None
    kept_until_s: float = 0.0

    def is_reached(
        self, wall_s: sa.ColumnElement[Any], kept_s: sa.ColumnElement[Any]
    ) -> sa.ColumnElement[bool]:
        """Return the condition on a row's Unix time and on its time by the store's clock."""
        is_old: sa.ColumnElement[bool] = wall_s < self.until_s
        if self.kept_now_s is None:
            return is_old
        return sa.and_(is_old, kept_s < self.kept_until_s)


@dataclass(frozen=True)
class Moment:
    """The time by both clocks.

    Attributes:
        wall_s: Unix time.
        kept_s: The store's time; None to count by the Unix time alone.
    """

    wall_s: float
    kept_s: float | None = None

    def before(self, age_s: float) -> Age:
        """Return the age of what is older than some seconds."""
        return Age(self.wall_s - age_s, self.kept_s, (self.kept_s or 0.0) - age_s)
