"""Zones, masks and lines of a camera's frame.

Points are parts of the frame's width and height, x to the right and y downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from plate_cameras.configuration import Camera, Line

Side = Literal["left", "right"]


def contains(polygon: Sequence[Sequence[float]], point: tuple[float, float]) -> bool:
    """Tell whether a point lies in a polygon, by the number of edges to its right.

    Left and upper edges belong to the polygon, right and lower ones do not. So of two zones that
    share an edge, one has the point.
    """
    x, y = point
    is_inside = False
    for (x0, y0), (x1, y1) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            is_inside = not is_inside
    return is_inside


def find_zones(camera: Camera, point: tuple[float, float]) -> tuple[str, ...]:
    """Return the names of the camera's zones in which a point lies, in their order."""
    return tuple(zone.name for zone in camera.zones if contains(zone.polygon, point))


def counts_at(camera: Camera, point: tuple[float, float]) -> bool:
    """Tell whether a plate at a point counts: in no mask, and in a zone if only zones count."""
    if any(contains(mask.polygon, point) for mask in camera.masks):
        return False
    return not camera.only_in_zones or bool(find_zones(camera, point))


def side_of(line: Line, point: tuple[float, float]) -> tuple[Side, float]:
    """Return the side of a point as seen from the line's start to its end, and its distance.

    The distance is that from the line, which has no ends here, in the units of the points.
    """
    (x0, y0), (x1, y1) = line.points
    area = (x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
    return ("right" if area > 0 else "left"), abs(area) / length


def meets(line: Line, before: tuple[float, float], after: tuple[float, float]) -> bool:
    """Tell whether the way between two points on different sides of a line leads through it.

    False if it leads round one of the line's ends.
    """
    (_, distance_before), (_, distance_after) = side_of(line, before), side_of(line, after)
    part = distance_before / max(distance_before + distance_after, 1e-9)
    x, y = (start + part * (end - start) for start, end in zip(before, after, strict=True))
    (x0, y0), (x1, y1) = line.points
    along = (x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)
    return 0 <= along <= (x1 - x0) ** 2 + (y1 - y0) ** 2
