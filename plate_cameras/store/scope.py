"""The part of the store that a caller may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from plate_cameras.configuration import Configuration


@dataclass(frozen=True)
class Scope:
    """Groups of cameras, with what belongs to them. For its caller, nothing else exists.

    Every read and change for a caller takes a scope, so that none can forget it.

    Attributes:
        groups: Names of the groups; empty for all.
        cameras: Names of their cameras; None for all.
        lists: Names of the lists that belong to these cameras: they look them up, or a gate of
            theirs does and no camera does.
        foreign_lists: Names of the lists that other cameras, or gates of theirs, use.
    """

    groups: tuple[str, ...] = ()
    cameras: frozenset[str] | None = None
    lists: frozenset[str] = frozenset()
    foreign_lists: frozenset[str] = frozenset()

    @classmethod
    def of(cls, groups: tuple[str, ...], configuration: Configuration) -> Scope:
        """Return the scope of groups; all of them if there are none."""
        if not groups:
            return EVERYTHING
        cameras = {camera.name for camera in configuration.cameras if camera.group in groups}
        by_cameras = {
            (camera.name, name) for camera in configuration.cameras for name in camera.lists
        }
        by_gates = {
            (camera, name)
            for gate in configuration.gates
            for camera, name in product(gate.cameras, (*gate.lists, *gate.blocked_lists))
        }
        lists_of_cameras = {name for _, name in by_cameras}
        owners = by_cameras | {pair for pair in by_gates if pair[1] not in lists_of_cameras}
        return cls(
            groups,
            frozenset(cameras),
            frozenset(name for camera, name in owners if camera in cameras),
            frozenset(name for camera, name in by_cameras | by_gates if camera not in cameras),
        )

    def sees(self, camera: str) -> bool:
        """Tell whether a camera belongs to it."""
        return self.cameras is None or camera in self.cameras

    def uses(self, name: str) -> bool:
        """Tell whether a list belongs to its cameras. Only such lists stand beside passes."""
        return not self.groups or name in self.lists

    def sees_list(self, name: str, owners: Iterable[str] | None) -> bool:
        """Tell whether a list belongs to it: by its cameras, or as an unused one by its owners.

        Args:
            name: Name of the list.
            owners: Groups of the caller who made the list; none for all.
        """
        return self.uses(name) or (name not in self.foreign_lists and self.includes(owners))

    def includes(self, groups: Iterable[str] | None) -> bool:
        """Tell whether other groups are a part of it; none stand for all."""
        other_groups = {*(groups or ())}
        return not self.groups or (bool(other_groups) and other_groups <= {*self.groups})


EVERYTHING = Scope()
"""The scope of callers who may see all cameras, and of the commands on the machine itself."""
