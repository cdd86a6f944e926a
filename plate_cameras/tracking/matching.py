"""Assigns the plates of a frame to the open passes.

The cost of a pair is a negative log-likelihood: of the motion, and of the two texts being one.

Source: H. Kuhn, "The Hungarian method for the assignment problem", 1955, as scipy has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, hypot

import numpy as np
from scipy.optimize import linear_sum_assignment

from orchestrator.formats.edit_distance import edit_distance
from plate_cameras.tracking.looks import Look
from plate_cameras.tracking.motion_model import Motion
from plate_cameras.tracking.open_pass import OpenPass

NEW_PASS = 12.0
"""Cost from which a plate is that of a new pass: 4.5 standard deviations of the motion, and more
where the text is the same."""
TEXT_COSTS = (-8.0, -4.0, 0.0)
"""Costs of texts that differ in 0, 1 and 2 characters, if both are certain."""
RETURNED_COSTS = (-8.0, 13.0, 16.0)
"""Costs of differing texts after a standing vehicle was long out of sight: neighbouring numbers of
a series differ by one or two characters."""
OTHER_TEXT = 20.0
"""Cost of texts that differ more, if both are certain: a new pass, wherever the plate is."""
SURENESS = 0.7
"""Power of the product of two scores: the weight of their texts."""
UNLIKE, UNLIKE_SCORE, UNLIKE_SURENESS = 6, 0.05, 0.35
"""Number of different characters that even poor readings of one plate do not have; the smallest
score and the smallest weight of such readings."""
SAME_TEXT = 0.5
"""Smallest certainty of two like texts that counts more than the motion does."""
MISSED_FRAME, MAX_MISSED = 1.0, 4.0
"""Cost of each frame that did not show the plate, and the most: the detector misses few."""
MAX_SPEED_WIDTHS_S, NEAR_WIDTHS = 40.0, 4.0
"""Greatest speed of a vehicle in the picture, and the way that is possible in any time."""
MAX_SIZE_RATIO = 4.0
"""Greatest ratio of the sizes of a plate in two frames."""
MAX_RESHAPE = 0.7
"""Greatest change of the logarithm of width over height: a plate does not become a headlamp."""
MOTION_S = 1.5
"""Time for which the motion of a vehicle is predicted. Later only its text counts."""
EXPECTED_FRAMES = 1
"""A moving plate is still expected at its place after at most so many frames without it."""
HIDDEN_FRAMES = 2
"""Smallest number of frames without the plate of a standing vehicle after which another may stand
there."""
STANDING_WIDTHS = 1.0
"""Greatest distance of a standing vehicle's plate from its place, in plate widths."""


def match(
    passes: Sequence[OpenPass], looks: Sequence[Look], time_s: float, max_s: float
) -> list[tuple[int, int]]:
    """Return the indices of passes and looks that belong together.

    Args:
        passes: The open passes.
        looks: The plates of one frame.
        time_s: Time of the frame.
        max_s: Time for which motion is predicted: `MOTION_S`, or longer if frames are rare.
    """
    costs = np.full((len(passes), len(looks)), NEW_PASS)
    for row, open_pass in enumerate(passes):
        prediction = open_pass.motion.predict(time_s, max_s)
        for column, look in enumerate(looks):
            costs[row, column] = min(NEW_PASS, cost_of(open_pass, prediction, look, max_s))
    rows, columns = linear_sum_assignment(costs)
    return [
        (int(row), int(column))
        for row, column in zip(rows, columns, strict=True)
        if costs[row, column] < NEW_PASS
    ]


def cost_of(open_pass: OpenPass, prediction: Motion, look: Look, max_s: float) -> float:
    """Return the cost of a look at an open pass; from `NEW_PASS` on they do not belong together.

    Args:
        open_pass: The pass.
        prediction: Its motion at the time of the look.
        look: The look.
        max_s: Time for which motion is predicted.
    """
    unseen_s = max(0.0, look.observation.time_s - open_pass.last_seen_s)
    ratio = exp(abs(look.log_size - open_pass.motion.log_size.value))
    reshape = (
        0.0 if look.is_cut or open_pass.last_look.is_cut else look.shape - open_pass.last_look.shape
    )
    if ratio > MAX_SIZE_RATIO or abs(reshape) > MAX_RESHAPE:
        return NEW_PASS
    is_back = open_pass.missed_frames >= HIDDEN_FRAMES and unseen_s > max_s
    text, is_same = compare_texts(open_pass, look, RETURNED_COSTS if is_back else TEXT_COSTS)
    away = hypot(look.place[0] - open_pass.motion.x.value, look.place[1] - open_pass.motion.y.value)
    away_widths = away / max(open_pass.motion.size, look.size)
    squared_distance, vagueness = prediction.misfit(look)
    motion = 0.5 * squared_distance + vagueness
    motion += min(MAX_MISSED, MISSED_FRAME * open_pass.missed_frames)
    if open_pass.is_standing and away_widths < STANDING_WIDTHS:
        motion = min(motion, 2 * away_widths)
    elif unseen_s > max_s:
        motion = NEW_PASS
    if is_same and away_widths <= MAX_SPEED_WIDTHS_S * unseen_s + NEAR_WIDTHS:
        motion = min(motion, NEW_PASS / 2)
    return motion + text


def compare_texts(
    open_pass: OpenPass, look: Look, costs: Sequence[float] = TEXT_COSTS
) -> tuple[float, bool]:
    """Return the cost of the texts of a pass and a look, and whether they are surely the same.

    Args:
        open_pass: The pass.
        look: The look.
        costs: Costs of few different characters, see `TEXT_COSTS`.
    """
    if not open_pass.fusion.text or not look.text:
        return 0.0, False
    certainty = (open_pass.fusion.score * look.text_score) ** SURENESS
    distance = edit_distance(open_pass.fusion.text, look.text)
    if distance < len(costs):
        is_same = costs[distance] < 0 and certainty >= SAME_TEXT
        return certainty * costs[distance], is_same
    if distance >= UNLIKE and min(open_pass.fusion.score, look.text_score) >= UNLIKE_SCORE:
        certainty = max(certainty, UNLIKE_SURENESS)
    return certainty * OTHER_TEXT, False


def is_expected(open_pass: OpenPass, look: Look) -> bool:
    """Tell whether a look lies where a pass that was seen shortly before is expected."""
    if open_pass.missed_frames > EXPECTED_FRAMES and not open_pass.is_standing:
        return False
    prediction = open_pass.motion.predict(look.observation.time_s, MOTION_S)
    away = hypot(look.place[0] - prediction.x.value, look.place[1] - prediction.y.value)
    return away < max(prediction.size, look.size)
