"""Zones and lines of a camera's frame."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.errors import SettingsError
from plate_cameras import setting_parts as sizes
from plate_cameras.setting_parts import at_most, check_name, check_sizes

Point = tuple[float, ...]
"""x and y as parts of the frame's width and height, in [0, 1]."""


@dataclass(frozen=True)
class Zone:
    """A named polygon of a camera's frame.

    Attributes:
        name: Name of the zone.
        polygon: Three or more points.
    """

    name: str
    polygon: tuple[Point, ...] = field(metadata=at_most(sizes.MAX_POINTS))

    def __post_init__(self) -> None:
        check_sizes(self)
        check_name(self.name)
        _check_points(f"zone {self.name}", self.polygon, min_count=3)


@dataclass(frozen=True)
class Line:
    """A named line across a camera's frame; passes report when they cross it, and to which side.

    Attributes:
        name: Name of the line.
        points: Start and end of the line.
    """

    name: str
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        check_sizes(self)
        check_name(self.name)
        _check_points(f"line {self.name}", self.points, min_count=2, max_count=2)


def _check_points(
    name: str, points: tuple[Point, ...], *, min_count: int, max_count: int | None = None
) -> None:
    if len(points) < min_count or (max_count is not None and len(points) > max_count):
        more = "" if max_count == min_count else " or more"
        raise SettingsError(f"{name}: wanted {min_count}{more} points, got {len(points)}")
    for point in points:
        if len(point) != 2 or not all(0 <= value <= 1 for value in point):
            raise SettingsError(
                f"{name}: wanted points [x, y] as parts of the frame, 0 to 1, got {[*point]}"
            )
