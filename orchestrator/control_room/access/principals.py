"""Principals: the people and programs that ask, with their roles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Role(IntEnum):
    """The permissions of a principal. Each role includes those before it."""

    NOBODY = 0
    """Logs in."""
    VIEWER = 1
    """Looks at passes, lists and cameras."""
    EDITOR = 2
    """Edits lists."""
    ADMINISTRATOR = 3
    """Edits zones and people, reads the audit, and exports and deletes the data of a plate."""


@dataclass(frozen=True)
class Principal:
    """A person or program that asks.

    Attributes:
        name: Name for the audit: `key:NAME`, a person's name, or `local` without keys.
        role: Its role.
        groups: Groups of cameras that it may see; empty for all.
    """

    name: str
    role: Role
    groups: tuple[str, ...] = ()

    def sees(self, group: str) -> bool:
        """Tell whether it may see the cameras of a group."""
        return not self.groups or group in self.groups

    def sees_all(self, groups: Iterable[str]) -> bool:
        """Tell whether it may see the cameras of all these groups."""
        return all(map(self.sees, groups))

    def includes(self, groups: tuple[str, ...]) -> bool:
        """Tell whether it sees all cameras that these groups stand for; none stand for all."""
        return not self.groups or (bool(groups) and self.sees_all(groups))


LOCAL = Principal("local", Role.ADMINISTRATOR)
"""Everybody on the machine of a gateway without keys."""
NOBODY = Principal("nobody", Role.NOBODY)
"""The sender of a login."""
