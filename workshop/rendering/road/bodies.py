"""Cars in three dimensions: a drawn face with sides, bonnet and roof behind it.

The lower part of the face is upright; the cabin above it leans away from the camera. Coordinates
are multiples of the car's width: u across, v away from the camera, z upwards from the ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from workshop.rendering.camera import Quad
from workshop.rendering.cars import GROUND, HEIGHT, MARGIN, Car, darken
from workshop.rendering.painting import Colour
from workshop.rendering.road.viewpoints import Points, Viewpoint

SHOULDER = 0.5
"""Height at which the cabin begins to lean, in car widths."""
ROOF = 0.79
LENGTH = 2.4
WHEELS, WHEEL = (0.42, 1.9), 0.17
"""Distances of the axles from the face, and the radius of a wheel, in car widths."""
GLASS, TYRE, SHADE = (52, 44, 38), (26, 26, 28), (20, 18, 16)
ROOM_PX = 24
"""Room round a car for its blur, pixels."""

Outline = Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class Stand:
    """Place, direction and shape of a car on the road.

    Attributes:
        place: Middle of the car's face, x y in metres.
        heading_deg: Turn of the car to the left; 0 leads straight away from the camera.
        slope: Distance from the face to the cabin, and how far the cabin leans back, in car widths.
    """

    place: tuple[float, float]
    heading_deg: float
    width_m: float
    slope: tuple[float, float]

    def to_world(self, parts: Outline) -> Points:
        """Return the world coordinates of parts of the car, (N, 3) metres."""
        u, v, z = np.array(parts, np.float64).T * self.width_m
        turn = np.deg2rad(self.heading_deg)
        x = self.place[0] + u * np.cos(turn) - v * np.sin(turn)
        y = self.place[1] + u * np.sin(turn) + v * np.cos(turn)
        return np.stack([x, y, z], axis=1)


@dataclass
class Layer:
    """Picture of one car on a transparent ground, as a camera sees it.

    Attributes:
        left, top: First column and row of the car's part of the picture, pixels.
        light: (H, W, 4) float32: BGR times alpha, 0 to 255, then alpha, 0 to 1.
    """

    left: int
    top: int
    light: NDArray[np.float32]

    def fill(self, outline: Points, colour: Colour, strength: float = 1.0) -> None:
        """Paint an area, (N, 2) pixels of the picture."""
        mask = np.zeros(self.light.shape[:2], np.uint8)
        inside = np.round((outline - [self.left + 0.5, self.top + 0.5]) * 16).astype(np.int32)
        cv2.fillPoly(mask, [inside], (255,), cv2.LINE_AA, 4)
        alpha = (mask[:, :, None] * np.float32(strength / 255)).astype(np.float32)
        self.light = self.light * (1 - alpha) + np.array([*colour, 1], np.float32) * alpha

    def lay(self, sprite: NDArray[np.float32], quad: Quad) -> None:
        """Lay a picture over the car: (h, w, 4) like `light`, its corners at (4, 2) pixels."""
        high, wide = sprite.shape[:2]
        source = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32) - 0.5
        target = (quad - [self.left + 0.5, self.top + 0.5]).astype(np.float32)
        matrix = cv2.getPerspectiveTransform(source, target)
        warped = cv2.warpPerspective(sprite, matrix, self.light.shape[1::-1])
        self.light = self.light * (1 - warped[:, :, 3:]) + warped

    def over(self, picture: NDArray[np.float32]) -> None:
        """Lay the car over a picture, (H, W, 3) float32 BGR."""
        high, wide = self.light.shape[:2]
        place = picture[self.top : self.top + high, self.left : self.left + wide]
        place[:] = place * (1 - self.light[:, :, 3:]) + self.light[:, :, :3]


def outline_px(view: Viewpoint, stand: Stand) -> Points:
    """Return the corners of a car's box, (8, 2) pixels without distortion."""
    sides = [(u, v, z) for u in (-0.55, 0.55) for v in (0.0, LENGTH) for z in (0.0, ROOF)]
    return view.project(stand.to_world(sides))


def draw_body(view: Viewpoint, stand: Stand, car: Car) -> tuple[Layer, Quad]:
    """Draw a car at its place on the road.

    Args:
        view: The camera; its distortion is left out.
        stand: The car's place.
        car: The car's face, with a plate.

    Returns:
        The car, and the corners of its plate, (4, 2) pixels without distortion.
    """
    box = outline_px(view, stand)
    low = np.maximum(np.floor(box.min(axis=0)) - ROOM_PX, 0).astype(int)
    high = np.minimum(np.ceil(box.max(axis=0)) + ROOM_PX, view.size_wh).astype(int)
    room = np.zeros((high[1] - low[1], high[0] - low[0], 4), np.float32)
    layer = Layer(int(low[0]), int(low[1]), room)
    _draw_shadow(layer, view, stand)
    _draw_side(layer, view, stand, car.paint)
    _draw_top(layer, view, stand, car.paint)
    quad = _draw_face(layer, view, stand, car)
    return layer, quad


def _draw_shadow(layer: Layer, view: Viewpoint, stand: Stand) -> None:
    """Draw the shadow of the car on the ground."""
    far = LENGTH + 0.05
    ground = [(-0.55, -0.06, 0.0), (0.55, -0.06, 0.0), (0.55, far, 0.0), (-0.55, far, 0.0)]
    layer.fill(view.project(stand.to_world(ground)), SHADE, 0.55)


def _near_side(view: Viewpoint, stand: Stand) -> float:
    """Return the side of the car's axis on which the camera is: -1 for left, 1 for right."""
    left, right = stand.to_world([(-0.5, 0, 0), (0.5, 0, 0)])[:, :2] - np.array(view.place[:2])
    return 1.0 if (left + right) @ (right - left) <= 0 else -1.0


def _draw_side(layer: Layer, view: Viewpoint, stand: Stand, paint: Colour) -> None:
    """Draw the side that the camera sees: sheet, windows, wheels."""

    def fill(parts: Outline, colour: Colour) -> None:
        layer.fill(view.project(stand.to_world(parts)), colour)

    side, (deck, lean) = _near_side(view, stand), stand.slope
    u, low, back = 0.47 * side, 0.12, LENGTH - 0.5
    edge = [(0.0, low), (0.0, SHOULDER), (LENGTH, SHOULDER - 0.03), (LENGTH, low)]
    fill([(u, v, z) for v, z in edge], darken(paint, 0.72))
    top, belt = 0.3 * side, SHOULDER
    cabin = [(u, deck, belt), (top, deck + lean, ROOF), (top, back, ROOF), (u, back + 0.3, belt)]
    fill(cabin, darken(paint, 0.66))
    glass = [(0.45, deck + 0.12, 0.53), (0.32, deck + lean + 0.05, 0.755)]
    glass += [(0.32, back - 0.06, 0.755), (0.45, back + 0.16, 0.53)]
    fill([(part * side, v, z) for part, v, z in glass], GLASS)
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    for v in WHEELS:
        for radius, colour in ((WHEEL, TYRE), (0.6 * WHEEL, (120, 122, 125))):
            circle = zip(np.cos(angles) * radius, np.sin(angles) * radius, strict=True)
            fill([(u * 1.02, v + x, WHEEL + y) for x, y in circle], colour)


def _draw_top(layer: Layer, view: Viewpoint, stand: Stand, paint: Colour) -> None:
    """Draw roof and bonnet; they are lighter than the face, since the sky lights them."""
    deck, lean = stand.slope
    roof, back = deck + lean - 0.02, LENGTH - 0.5
    flat = [(-0.3, roof, ROOF), (0.3, roof, ROOF), (0.3, back, ROOF), (-0.3, back, ROOF)]
    layer.fill(view.project(stand.to_world(flat)), darken(paint, 1.12))
    near, far = SHOULDER, SHOULDER + 0.01
    bonnet = [(-0.47, 0, near), (0.47, 0, near), (0.44, deck, far), (-0.44, deck, far)]
    layer.fill(view.project(stand.to_world(bonnet)), darken(paint, 1.08))


def _draw_face(layer: Layer, view: Viewpoint, stand: Stand, car: Car) -> Quad:
    """Draw the car's face in perspective; returns the corners of its plate."""
    half, top = 0.5 + MARGIN, HEIGHT - GROUND
    alpha = car.sprite[:, :, 3:]
    sprite = np.dstack([car.sprite[:, :, :3] * alpha, alpha])
    small = cv2.resize(sprite, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA).astype("f4")
    scale = car.sprite.shape[1] / (2 * half)  # sprite pixels in a width of the car
    fold, first, last = (round((top - z) * scale / 2) for z in (SHOULDER, SHOULDER + 0.04, 0.0))
    belt, upper, ground = (top - 2 * row / scale for row in (fold, first, last))
    deck, lean = stand.slope
    away = deck + lean * (top - belt) / (ROOF - belt)
    cabin = [(-half, away, top), (half, away, top), (half, deck, belt), (-half, deck, belt)]
    layer.lay(small[:fold], view.project(stand.to_world(cabin)))
    face = [(-half, 0, upper), (half, 0, upper), (half, 0, ground), (-half, 0, ground)]
    layer.lay(small[first:last], view.project(stand.to_world(face)))
    place = car.plate / scale * [1, -1] + [-half, top]
    return view.project(stand.to_world([(u, 0.0, z) for u, z in place]))
