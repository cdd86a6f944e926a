"""The traffic of the street in these measurements."""

from __future__ import annotations

STAYS_S = (3.0, 4.0, 3.0, 5.0)
"""All vehicles move fast enough to count as moving: their passes end 3 s after they have left."""
PAUSE_S = 2.5
