"""Revisions of what other processes keep in memory, such as lists."""

from __future__ import annotations

import secrets

BITS = 53
"""Bits of a revision: JSON's numbers are exact up to there."""


def new_revision() -> int:
    """Return a number by which another process sees that its copy is old.

    It is random. A counter would come again after a deletion, or with a restored backup.
    """
    return secrets.randbits(BITS)
