"""The search for the plates of a picture: looks at the whole picture, and at parts where it helps.

Every look runs the detector once, on one batch of pictures of one size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from orchestrator.arrays import Array, Infer, namespace
from orchestrator.contract import DETECTOR, INPUT, OUTPUT
from orchestrator.detection.boxes import are_parts, clip
from orchestrator.detection.letterbox import Letterbox, letterbox
from orchestrator.detection.nearby import MAX_NEARBY, NEARBY_SIDE_PX, find_same, surroundings_of
from orchestrator.detection.postprocessing import MAX_SHRINKAGE, Detections, best_of, to_pictures
from orchestrator.detection.tiles import MAX_TILES, drop_seen, keep_whole, split_cut, tiles_around
from orchestrator.errors import ParameterError
from orchestrator.settings import MAX_PLATES, Roi, Settings

Yolo = Callable[[Sequence[Array], Settings], tuple[list[Detections], list[Letterbox]]]
"""Finds plates in pictures of one size: `detect` with its first argument."""

SURROUNDINGS, MIN_SURROUNDINGS_PX = 1 / 16, 48
"""Width of the surroundings that are searched, as a share of the region's longer side, and its
minimum. Plates up to twice as wide, whose middle lies in the region, are whole there; of wider
plates more than half is there."""
FLATNESS = 0.5
"""Height of the surroundings over their width: plates are wider than high."""

CLOSE_UP_SIDE_PX = 128
"""Longest side of the letterbox for close-ups. A plate that fills it is as wide as the plates that
the detector was trained on."""
SURE = 0.7
"""A picture with a higher score is no close-up. Parts of a close-up had scores up to 0.62."""
MIN_SCORE, MIN_SHARE = 0.5, 0.3
"""Smallest score of a close-up, and its least width as a share of the picture's width. In the small
letterbox, boxes of smaller plates are noise."""

MAX_PARTS = 2 + MAX_TILES + (MAX_TILES + 1) * MAX_NEARBY
"""Largest number of pictures that a search shows the detector: the whole one, also as a close-up;
the tiles; and the surroundings of plates that the border of a tile, or of the region of interest,
may cut."""


def view_of(roi: Roi, size_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the part of a picture to search for a region, xyxy: the region and its surroundings.

    Args:
        roi: The region of interest.
        size_wh: Size of the picture, pixels.

    Raises:
        ParameterError: The region contains no whole pixel of the picture.
    """
    width, height = size_wh
    x0, y0, x1, y1 = _clip(roi, size_wh)
    if x0 >= x1 or y0 >= y1:
        raise ParameterError(f"roi: wanted a part of the {width}x{height} picture, got {roi}")
    around = max(MIN_SURROUNDINGS_PX, SURROUNDINGS * max(x1 - x0, y1 - y0))
    above = FLATNESS * around
    return _clip((x0 - around, y0 - above, x1 + around, y1 + above), size_wh)


def keep_inside(detections: Detections, roi: Roi) -> Detections:
    """Keep the detections whose middle lies in a region of interest."""
    x0, y0, x1, y1 = roi
    middles = (detections.xyxy[:, :2] + detections.xyxy[:, 2:]) / 2
    x, y = middles[:, 0], middles[:, 1]
    return detections.select((x0 <= x) & (x < x1) & (y0 <= y) & (y < y1))


def _clip(xyxy: Roi, size_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """Round a box to whole pixels and clip it to a picture."""
    x0, y0, x1, y1 = (
        round(min(max(at, 0.0), side)) for at, side in zip(xyxy, size_wh * 2, strict=True)
    )
    return x0, y0, x1, y1


def detect(
    infer: Infer, pictures: Sequence[Array], settings: Settings
) -> tuple[list[Detections], list[Letterbox]]:
    """Return the detector's plates in pictures of one size, also faint ones, and the letterboxes.

    The detector gets the pictures as one batch.
    """
    boxes = [letterbox(picture, settings.detector_side_px) for picture in pictures]
    nets = [box.net for box in boxes]
    batch = nets[0] if len(nets) == 1 else namespace(nets[0]).concatenate(nets)
    rows = infer(DETECTOR, {INPUT: batch})[OUTPUT]
    height, width = pictures[0].shape[:2]
    return to_pictures(rows, boxes, (width, height), settings), boxes


def search(picture: Array, yolo: Yolo, settings: Settings) -> Detections:
    """Find the plates whose middle lies in the region of interest, in pixels of the picture.

    The surroundings of the region are searched, too, so that its border cuts no plate.
    """
    if settings.roi is None:
        return _search_whole(picture, yolo, settings)
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = view = view_of(settings.roi, (width, height))
    unlimited = replace(settings, max_plates=MAX_PLATES)  # better ones may lie outside the region
    detections = _search_whole(picture[y0:y1, x0:x1], yolo, unlimited)
    whole, cut = split_cut(detections, view, (width, height))
    completed = _complete(picture, keep_inside(cut, settings.roi), yolo, settings)
    return best_of([keep_inside(part, settings.roi) for part in (whole, completed)], settings)


def find_nearby(picture: Array, box: Array, yolo: Yolo, settings: Settings) -> Array | None:
    """Find the plate of a box [4] again in its surroundings; None if it is not whole there.

    The detector gets boxes one by one: a batch of another size would be another shape to prepare.
    """
    nearby = replace(settings, detector_side_px=NEARBY_SIDE_PX)
    x0, y0, x1, y1 = box.tolist()
    part = surroundings_of(picture, (x0, y0, x1, y1))
    (detections,), _ = yolo([part.net[0]], nearby)
    wholes = keep_whole(best_of([detections], nearby), (NEARBY_SIDE_PX, NEARBY_SIDE_PX))
    return find_same(part.to_source(wholes.xyxy), box)


def _search_whole(picture: Array, yolo: Yolo, settings: Settings) -> Detections:
    """Detect plates, and keep the best of several overlapping boxes.

    In a picture that was scaled down much, the parts with faint or small detections are searched
    again at full size. A picture without a sure detection may be a close-up: it is searched again
    at a small size.
    """
    (detections,), (box,) = yolo([picture], settings)
    best = best_of([detections], settings)
    if box.scale <= MAX_SHRINKAGE:
        best = _search_tiles(picture, detections, box, yolo, settings) or best
    if max(box.net.shape) <= CLOSE_UP_SIDE_PX or (best.scores > SURE).any():
        return best
    close_ups = _search_close_ups(picture, box, yolo, settings)
    if not len(close_ups.scores):
        return best
    return best_of([drop_parts(best, close_ups), close_ups], settings)


def _search_tiles(
    picture: Array, detections: Detections, box: Letterbox, yolo: Yolo, settings: Settings
) -> Detections | None:
    """Return the best of the detections in a picture and in its tiles; None if it needs none.

    Plates that an edge of a tile may cut are completed where no whole plate is.
    """
    height, width = picture.shape[:2]
    tiles = tiles_around(detections, box.scale, (width, height))
    if not tiles:
        return None
    parts = [picture[y0:y1, x0:x1] for x0, y0, x1, y1 in tiles]  # all of one size
    answers, _ = yolo(parts, settings)
    pairs = [
        split_cut(answer, tile, (width, height))
        for answer, tile in zip(answers, tiles, strict=True)
    ]
    best = best_of([detections, *(whole for whole, _ in pairs)], settings)
    parts_of_plates = [drop_seen(cut, best) for _, cut in pairs]
    completed = [_complete(picture, cut, yolo, settings) for cut in parts_of_plates]
    return best_of([best, *completed], settings)


def _search_close_ups(picture: Array, box: Letterbox, yolo: Yolo, settings: Settings) -> Detections:
    """Search a picture for plates that fill it, at a small size: its letterbox is shrunk again."""
    box = box.trim()
    (detections,), _ = yolo([box.net[0]], replace(settings, detector_side_px=CLOSE_UP_SIDE_PX))
    height, width = picture.shape[:2]
    xyxy = clip(box.to_source(detections.xyxy), (width, height))
    return keep_close_ups(replace(detections, xyxy=xyxy), width)


def _complete(picture: Array, cut: Detections, yolo: Yolo, settings: Settings) -> Detections:
    """Find the whole plates of detections that a border inside the picture may cut.

    A detection whose plate is not found whole is dropped: a part of a plate is read as another one.
    """
    height, width = picture.shape[:2]
    cut = best_of([cut], replace(settings, max_plates=MAX_NEARBY))
    boxes = [find_nearby(picture, box, yolo, settings) for box in cut.xyxy]
    wholes = {index: box for index, box in enumerate(boxes) if box is not None}
    xyxy = np.array([*wholes.values()], np.float32).reshape(-1, 4)
    return Detections(clip(xyxy, (width, height)), cut.scores[[*wholes]])


def keep_close_ups(detections: Detections, width_px: int) -> Detections:
    """Keep the boxes with a high score that are wide in a picture of the given width."""
    widths = detections.xyxy[:, 2] - detections.xyxy[:, 0]
    return detections.select((detections.scores >= MIN_SCORE) & (widths >= MIN_SHARE * width_px))


def drop_parts(detections: Detections, close_ups: Detections) -> Detections:
    """Drop detections that are parts of a close-up with a higher score, such as its region code."""
    is_part = are_parts(detections.xyxy, close_ups.xyxy)
    is_better = close_ups.scores > detections.scores[:, None]
    return detections.select(~(is_part & is_better).any(1))
