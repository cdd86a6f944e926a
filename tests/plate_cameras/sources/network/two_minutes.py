"""A clip of two minutes: vehicles drive across a street, and each frame shows its number.

A row of blocks at the top shows the frame's number in binary. The number determines the vehicle's
place and plate. So a test can identify a frame and check that it is complete.
"""

from functools import cache
from pathlib import Path

import cv2
import numpy as np

SIZE_WH = (320, 180)
RATE = 10
COUNT = 120 * RATE
BITS, BLOCK = 11, 20
VEHICLE_FRAMES = 8 * RATE
"""Frames in which one vehicle drives across."""
WIDTH, TOP, BOTTOM = 100, 70, 140
STEP_PX = (SIZE_WH[0] - WIDTH) / VEHICLE_FRAMES
LIGHT, DARK = (235, 235, 235), (20, 20, 20)
WRONG = 7.0
"""Largest mean difference of grey levels in a correct frame. Good encoding causes 3, another plate
at least 10, the previous frame 16."""


def plate_of(number: int) -> str:
    """Return the plate of the vehicle in a frame."""
    vehicle = number // VEHICLE_FRAMES
    return f"{'ABEKMH'[vehicle % 6]}{111 + 37 * vehicle}BC"


def box_of(number: int) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the vehicle in a frame."""
    left = int(number % VEHICLE_FRAMES * STEP_PX)
    return left, TOP, left + WIDTH, BOTTOM


def draw(number: int) -> np.ndarray:
    """Return a frame of the clip, BGR."""
    frame = _street().copy()
    for bit in range(BITS):
        color = LIGHT if number >> bit & 1 else DARK
        frame[:BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = color
    left, top, right, bottom = box_of(number)
    cv2.rectangle(frame, (left, top), (right, bottom), LIGHT, -1)
    text_from = (left + 4, bottom - 25)
    cv2.putText(frame, plate_of(number), text_from, cv2.FONT_HERSHEY_SIMPLEX, 0.75, DARK, 3)
    return frame


def write_clip(folder: Path, count: int = COUNT) -> Path:
    """Write the first frames as 0000.jpg and so on."""
    for number in range(count):
        cv2.imwrite(str(folder / f"{number:04d}.jpg"), draw(number))
    return folder


def read_number(jpeg: bytes) -> int:
    """Return the number of a frame of any size, after checking its vehicle."""
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    height, width = picture.shape[:2]
    scale = width / SIZE_WH[0]
    row = picture[int(scale * BLOCK / 2)].mean(axis=-1)
    middles = [int(scale * (bit + 0.5) * BLOCK) for bit in range(BITS)]
    number = sum(int(row[at] > 128) << bit for bit, at in enumerate(middles))
    expected_picture = cv2.resize(draw(number), (width, height))
    left, top, right, bottom = (int(scale * side) for side in box_of(number))
    vehicles = [each[top:bottom, left:right].astype(float) for each in (picture, expected_picture)]
    difference = float(np.abs(vehicles[0] - vehicles[1]).mean())
    assert difference < WRONG, f"wanted {plate_of(number)} at {left}, got another picture"
    return number


@cache
def _street() -> np.ndarray:
    coarse = np.random.default_rng(7).integers(60, 160, (23, 40, 3), dtype=np.uint8)
    return cv2.resize(coarse, SIZE_WH, interpolation=cv2.INTER_CUBIC)
