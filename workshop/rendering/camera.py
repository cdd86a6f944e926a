"""Effects of roads, weather and cameras on a plate: soiling, perspective, light, blur and noise.

Randomness comes from a seeded generator only. Functions return new pictures and know no texts.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.painting import Colour

Quad = NDArray[np.float64]
"""(4, 2) float64 corners in pixels, clockwise from top-left."""
Light = NDArray[np.float32]
"""(H, W, 3) float32 BGR, 0 to 255, not clipped."""


NIGHTS = 0.2
"""Share of the pictures that are taken at night."""
SMEARED = 0.2
"""Share of the pictures that are smeared much, beside those with a little motion blur."""
SMEARS = (0.03, 0.18)
"""Shortest and longest of these smears, as a share of the plate's width."""
SURROUNDED = 1.5
"""Width of a plate with its surroundings divided by its own."""
CAR_PLATE = 520 / 112
"""Width of most cars' plates divided by their height."""


@dataclass(frozen=True)
class View:
    """Position of a plate in front of a camera; angles in degrees.

    Attributes:
        yaw: Turn of the plate round its vertical axis.
        pitch: Turn of the plate round its horizontal axis.
        roll: Turn of the camera round its own axis.
        width_px: Width of the plate seen straight on.
        slope: Slope of the rows, as from a camera above and beside the lane; the columns stay
            upright.
    """

    yaw: float
    pitch: float
    roll: float
    width_px: float
    slope: float = 0.0

    def quad(self, proportion: float = CAR_PLATE) -> Quad:
        """Corners of a plate round (0, 0) as a pinhole camera sees them.

        Args:
            proportion: Width of the plate divided by its height.
        """
        x, y = 2.6, 2.6 / proportion
        half = np.array([[-x, -y], [x, -y], [x, y], [-x, y]])
        yaw, pitch, roll = np.deg2rad([self.yaw, self.pitch, self.roll])
        x, y = half[:, 0] * np.cos(yaw), half[:, 1] * np.cos(pitch)
        depth = 14 + half[:, 0] * np.sin(yaw) + half[:, 1] * np.sin(pitch)
        x, y = x * 14 / depth, y * 14 / depth
        y = y + x * np.tan(np.deg2rad(self.slope))
        turned = np.stack(
            [x * np.cos(roll) - y * np.sin(roll), x * np.sin(roll) + y * np.cos(roll)], axis=1
        )
        quad: Quad = turned * self.width_px / 5.2
        return quad


def random_view(rng: np.random.Generator, width_px: tuple[float, float] = (28, 300)) -> View:
    """Draw a view: three in five nearly straight and level, the others slanted or turned."""
    size_px = _random_width(rng, width_px)
    if rng.random() < 0.6:
        return _straight_view(rng, size_px)
    is_turned = rng.random() < 0.5
    return View(
        yaw=float(rng.uniform(-50, 50)),
        pitch=float(rng.uniform(-15, 40)),
        roll=float(rng.uniform(-34, 34) if is_turned else rng.normal(0, 4)),
        width_px=size_px,
        slope=float(rng.normal(0, 4) if is_turned else rng.uniform(-26, 26)),
    )


def _random_width(rng: np.random.Generator, width_px: tuple[float, float]) -> float:
    return float(np.exp(rng.uniform(*np.log(width_px))))


def _straight_view(rng: np.random.Generator, size_px: float) -> View:
    yaw, pitch, roll = rng.normal([0, 5, 0], [15, 10, 3.5]).tolist()
    return View(yaw, pitch, roll, size_px)


def warp(plate: Bgr, behind: Bgr, quad: Quad) -> Bgr:
    """Draw a flat plate into a background picture, its corners at the quadrilateral."""
    height, width = plate.shape[:2]
    size_wh = (behind.shape[1], behind.shape[0])
    # A warp that shrinks by 2 or more skips pixels. So shrink first, and warp by a factor < 2.
    factor = float(np.linalg.norm(quad[1] - quad[0])) * 1.6 / width
    if factor < 0.8:
        plate = shrink(plate, factor)
        height, width = plate.shape[:2]
    source = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32) - 0.5
    matrix = cv2.getPerspectiveTransform(source, quad.astype(np.float32))
    warped = cv2.warpPerspective(plate, matrix, size_wh, borderMode=cv2.BORDER_REPLICATE)
    mask = np.zeros((size_wh[1], size_wh[0]), np.uint8)
    cv2.fillConvexPoly(mask, np.round(quad * 16).astype(np.int32), (255,), cv2.LINE_AA, 4)
    alpha = mask[:, :, None].astype(np.float32) / 255
    return (behind * (1 - alpha) + warped * alpha).astype(np.uint8)


def shrink(picture: Bgr, factor: float) -> Bgr:
    size_wh = [max(2, round(side * factor)) for side in picture.shape[1::-1]]
    return cv2.resize(picture, size_wh, interpolation=cv2.INTER_AREA).astype(np.uint8)


def cloud(rng: np.random.Generator, size_hw: tuple[int, int], grain: int) -> NDArray[np.float32]:
    """Return a smooth random field, (H, W) float32 from 0 to 1; more grain makes smaller blobs."""
    height, width = size_hw
    rough = rng.random((max(2, grain * height // width + 1), grain), dtype=np.float32)
    return cv2.resize(rough, (width, height), interpolation=cv2.INTER_CUBIC).clip(0, 1)


def soil(rng: np.random.Generator, plate: Bgr) -> Bgr:
    """Add dirt, snow, faded ink, a shadow's edge or a reflection to a plate; often nothing."""
    out = plate.astype(np.float32)
    size_hw = (plate.shape[0], plate.shape[1])
    if rng.random() < 0.35:  # mud and dust, thicker in blobs
        blobs = 0.6 * cloud(rng, size_hw, 6) + 0.4 * cloud(rng, size_hw, 25)
        amount = np.clip((blobs - rng.uniform(0.3, 0.7)) * rng.uniform(0.8, 3), 0, 0.85)
        out = _cover(out, amount, tuple(rng.uniform(40, 130, 3) * np.array([0.8, 0.9, 1.0])))
    if rng.random() < 0.08:  # snow, from an edge
        edge = np.linspace(0, 1, size_hw[0], dtype=np.float32)[:, None]
        edge = edge if rng.random() < 0.6 else 1 - edge
        amount = np.clip((edge + 0.4 * cloud(rng, size_hw, 12) - rng.uniform(0.9, 1.2)) * 6, 0, 1)
        out = _cover(out, amount * 0.95, (235.0, 230.0, 228.0))
    if rng.random() < 0.15:  # faded: all colours move towards the plate's mean
        out += (out.mean() - out) * rng.uniform(0.1, 0.5)
    if rng.random() < 0.25:
        out *= _shadow(rng, size_hw)
    if rng.random() < 0.1:
        centre = rng.uniform(0, 1, 2) * size_hw
        y, x = np.ogrid[: size_hw[0], : size_hw[1]]
        radius = rng.uniform(0.1, 0.5) * size_hw[1]
        spot = np.exp(-((y - centre[0]) ** 2 + (x - centre[1]) ** 2) / radius**2)
        out += spot[:, :, None] * rng.uniform(30, 160)
    return out.clip(0, 255).astype(np.uint8)


def _cover(light: Light, amount: NDArray[np.float32], colour: tuple[float, ...]) -> Light:
    alpha = amount[:, :, None].astype(np.float32)
    blend: Light = light * (1 - alpha) + np.array(colour, np.float32) * alpha
    return blend


def _shadow(rng: np.random.Generator, size_hw: tuple[int, int]) -> Light:
    """Return the light factor of a picture half in shade, (H, W, 1), 0.3 to 1."""
    y, x = np.mgrid[: size_hw[0], : size_hw[1]].astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi)
    across = (x - size_hw[1] * rng.uniform(0, 1)) * np.cos(angle) + (
        y - size_hw[0] * rng.uniform(0, 1)
    ) * np.sin(angle)
    lit = 0.5 + 0.5 * np.tanh(across / rng.uniform(2, 24))
    dark = rng.uniform(0.35, 0.85)
    shade: Light = (dark + (1 - dark) * lit)[:, :, None].astype(np.float32)
    return shade


def photograph(rng: np.random.Generator, picture: Bgr, width_px: float | None = None) -> Bgr:
    """Expose, blur, add noise and compress, like cameras from good to bad.

    Args:
        rng: Source of all randomness.
        picture: (H, W, 3) uint8 BGR.
        width_px: Width of a plate with its surroundings; it limits the blur, so that the plate
            may stay readable. The picture's width when None.
    """
    light = picture.astype(np.float32)
    is_night = rng.random() < NIGHTS
    light = darken(rng, light) if is_night else _expose(rng, light)
    light = _blur(rng, light, width_px or light.shape[1])
    if is_night:
        light = light + rng.normal(0, rng.uniform(2, 11), light.shape).astype(np.float32)
    elif rng.random() < 0.6:
        sigma = rng.gamma(1.5, 0.06) * light.std()
        light = light + rng.normal(0, sigma, light.shape).astype(np.float32)
    if rng.random() < 0.2:  # sharpened by the camera: halos
        light = light + (light - cv2.GaussianBlur(light, (0, 0), 1.2)) * rng.uniform(0.5, 2)
    photo: Bgr = light.clip(0, 255).astype(np.uint8)
    return compress(photo, int(rng.integers(20, 96))) if rng.random() < 0.7 else photo


def compress(picture: Bgr, quality: int) -> Bgr:
    """Encode a picture as JPEG and decode it again."""
    _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    pixels: Bgr = cv2.imdecode(jpeg, cv2.IMREAD_COLOR).astype(np.uint8)
    return pixels


def _expose(rng: np.random.Generator, light: Light) -> Light:
    """Change gain, offset, gamma and colour, as by day, dusk, night, headlights or infrared."""
    if rng.random() < 0.2:
        light = np.repeat(light.mean(axis=2, keepdims=True), 3, axis=2)
    cast = np.exp(rng.normal(0, 0.1, 3)).astype(np.float32)
    light = 255 * (light / 255).clip(0, 1) ** np.float32(np.exp(rng.normal(0, 0.35)))
    low = rng.uniform(0, 90)
    span = rng.uniform(45, 260) if rng.random() < 0.5 else rng.uniform(130, 250)
    light = low * rng.random() + light * cast * np.float32(span / 225)
    if rng.random() < 0.3:  # uneven light: one side is nearer to the lamp
        left, right = rng.uniform(0.5, 1.3, 2).tolist()
        slope = np.linspace(left, right, light.shape[1])
        light = light * slope[None, :, None].astype(np.float32)
    result: Light = light.astype(np.float32)
    return result


def darken(rng: np.random.Generator, light: Light) -> Light:
    """Darken a picture like a night without lamps; dark tones lose the most."""
    return (
        255
        * (light / 255) ** np.float32(rng.uniform(1.4, 2.4))
        * np.float32(rng.uniform(0.25, 0.7))
    )


def _blur(rng: np.random.Generator, light: Light, width: float) -> Light:
    """Add defocus or motion blur, mostly of horizontal motion; width in pixels of the photo."""
    kind = rng.random()
    if kind < 0.5:
        sigma = float(rng.uniform(0.3, 0.45 + width / 240))
        light = cv2.GaussianBlur(light, (0, 0), sigma).astype(np.float32)
    if 0.4 < kind < 0.7:
        light = smear(rng, light, 2 + int(rng.random() ** 2 * width / 9))
    if rng.random() < SMEARED:
        light = smear(rng, light, max(2, round(rng.uniform(*SMEARS) * width / SURROUNDED)))
    return light


def smear(rng: np.random.Generator, light: Light, length: int) -> Light:
    """Add the motion blur of a mostly horizontal motion; length in pixels."""
    angle = float(rng.normal(0, 6) if rng.random() < 0.7 else rng.uniform(0, 180))
    return cv2.filter2D(light, -1, _streak(length, angle)).astype(np.float32)


def _streak(length: int, angle: float) -> NDArray[np.float32]:
    """Return the motion blur kernel of `length` pixels, (length, length) float32, sum 1."""
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1
    middle = ((length - 1) / 2, (length - 1) / 2)
    turn = cv2.getRotationMatrix2D(middle, angle, 1.0)
    streak = cv2.warpAffine(kernel, turn, (length, length)).astype(np.float32)
    return streak / max(float(streak.sum()), 1e-6)


def random_colour(rng: np.random.Generator) -> Colour:
    """Draw a colour of car paint: mostly grey, white or black, sometimes bright."""
    grey, bright = np.full(3, rng.integers(10, 245)), rng.integers(0, 255, 3)
    blue, green, red = bright if rng.random() < 0.4 else grey + rng.integers(-8, 8, 3)
    return int(blue), int(green), int(red)
