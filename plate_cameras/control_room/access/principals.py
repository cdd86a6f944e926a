"""Principals: the people and programs that ask, with their roles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Role(IntEnum):
    """The permissions of a principal. Each role includes those before it, but that of a sender."""

    NOBODY = 0
    """May only log in."""
    SENDER = 1
    """Sends the pictures of a camera, and sees nothing. Only keys have this role."""
    VIEWER = 2
    """Looks at passes, lists and cameras."""
    EDITOR = 3
    """Edits lists."""
    ADMINISTRATOR = 4
    """Edits zones and people, reads the audit, and exports and deletes the data of a plate."""


@dataclass(frozen=True)
class Principal:
    """A person or program that asks.

    Attributes:
        name: Name for the audit: `key:NAME`, a person's name, or `local` without keys.
        groups: Groups of cameras that it may see; empty for all.
    """

    name: str
    role: Role
    groups: tuple[str, ...] = ()


LOCAL = Principal("local", Role.ADMINISTRATOR)
"""Everybody on the machine of a gateway without keys."""
NOBODY = Principal("nobody", Role.NOBODY)
"""The sender of a login."""
