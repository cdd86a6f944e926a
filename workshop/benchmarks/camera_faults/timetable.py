"""The timetable of a street: which vehicle each camera sees at each moment.

It needs nothing but Python, so that a camera may run with the system's Python.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

SIZE_WH = (320, 136)
STAYS_S = (3.0, 4.0, 3.0, 5.0)
"""Times for which vehicles can be seen, in turn. All of them move fast enough to count as moving:
their passes end 3 s after they have left."""
PAUSE_S = 2.5
LETTERS = "ABEKMHOPCTYX"
BITS, BLOCK, CODE_PX = 27, 8, 16
"""The picture's upper edge tells camera (7), vehicle (12) and x (8) in blocks; its height."""
NOBODY = 0xFFF
"""Number of a vehicle that is not there."""
PLATE_Y, PLATE_WH = 80, (80, 18)
FROM_X, WAY_PX = 20, 200
"""Left side of the plate of a vehicle that comes, and the way that it goes."""
ROAD, LIGHT = 96, 255
"""Grey levels."""


@dataclass(frozen=True)
class Sight:
    """The content of a picture."""

    camera: int
    vehicle: int
    x: int

    @property
    def text(self) -> str:
        """Text of the plate, which no other vehicle has; the next one's differs much."""
        first, last = LETTERS[self.vehicle % 12], LETTERS[self.vehicle * 5 % 12]
        return f"{first}{self.vehicle * 367 % 1000:03d}{last}C{self.camera + 1:02d}"

    @property
    def code(self) -> int:
        """The number in the upper edge of its picture."""
        return self.camera << 20 | self.vehicle << 8 | self.x

    @classmethod
    def of(cls, code: int) -> Sight:
        """Return the sight with this code."""
        return cls(code >> 20 & 0x7F, code >> 8 & 0xFFF, code & 0xFF)


@dataclass
class Street:
    """All cameras. Each shows one vehicle after the other.

    Attributes:
        stays_s: Times for which vehicles can be seen, in turn.
    """

    cameras: int
    started_s: float = field(default_factory=time.time)
    stays_s: tuple[float, ...] = STAYS_S
    pause_s: float = PAUSE_S

    def look(self, camera: int, now_s: float) -> Sight:
        """Return what a camera sees."""
        for sight, start_s, end_s in self.vehicles(camera, now_s):
            if start_s <= now_s < end_s:
                part = (now_s - start_s) / (end_s - start_s)
                return Sight(camera, sight.vehicle, FROM_X + round(part * WAY_PX))
        return Sight(camera, NOBODY, 0)

    def vehicles(self, camera: int, until_s: float) -> Iterator[tuple[Sight, float, float]]:
        """Yield the vehicles of a camera with the times of their start and end."""
        at_s, number = self.started_s + 1.7 * camera % 9, 0
        while at_s < until_s:
            stay_s = self.stays_s[(number + camera) % len(self.stays_s)]
            yield Sight(camera, number, FROM_X), at_s, at_s + stay_s
            at_s, number = at_s + stay_s + self.pause_s, number + 1
