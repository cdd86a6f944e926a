"""The story of one picture: find the plates, straighten them, read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import torch
from torch import Tensor

from orchestrator.boxes import clip
from orchestrator.contract import (
    ALL_OUTPUTS,
    DETECTOR,
    FROM_DETECTION,
    FROM_RECTIFICATION,
    INPUT,
    MAX_BATCH,
    OUTPUT,
    READER,
    RECTIFIER,
    THETA,
)
from orchestrator.detections import Detections, find_squares, keep_best
from orchestrator.errors import ModelError, ParameterError, SettingsError
from orchestrator.formats import Formats, russian
from orchestrator.images import check_picture, crop_boxes, crop_plates, letterbox
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Roi, Settings
from orchestrator.texts import read_lines, with_text

Tensors = Mapping[str, Tensor]
Infer = Callable[[str, Tensors], Tensors]
"""Runs the named network: `infer("yolo", {"input__0": net})["output__0"]`.

Where it has an attribute `formats`, as that of `load_networks` has, its weights read those plates.
"""


def recognize(
    picture: Tensor,
    infer: Infer,
    settings: Settings | None = None,
    *,
    formats: Formats | None = None,
    outputs: Collection[str] = ALL_OUTPUTS,
) -> Plates:
    """Find and read every plate of a picture.

    Args:
        picture: uint8 [H, W, 3] BGR, on the CPU or a GPU.
        infer: Runs one of the three networks; the only way out of this function.
        settings: Thresholds and limits.
        formats: What plates may say, in the alphabet of the reader; when None those of `infer`, or
            Russian plates where it has none.
        outputs: Names of the outputs that will be used; networks that none of them needs are not
            run, and their part of a `Plate` stays empty. The corners of a plate that may have two
            lines need it read.

    Returns:
        The plates, best detection first, in pixels of the picture that was given.

    Raises:
        PictureError: Not a uint8 [H, W, 3] picture, or too many pixels.
        ParameterError: The region of interest lies outside the picture.
        ModelError: A network answered with tensors of another shape, or the detector with rows that
            break its contract.
        SettingsError: The formats have another alphabet than those of `infer`.
    """
    settings, formats = settings or Settings(), _formats_of(infer, formats)
    check_picture(picture, max_pixels=settings.max_pixels)
    view, origin_xy = region(picture, settings.roi)
    found = find(view, infer, settings)
    if not found.scores or not set(outputs) - FROM_DETECTION:
        return Plates(tuple(_plates(found, origin_xy)))
    squares = find_squares(found.xyxy) if formats.layouts(2) else []
    straight, theta = straighten(cut(view, found.xyxy, squares), infer)
    corners = corners_of(theta[: len(found.scores)], crop_boxes(view, found.xyxy))
    plates = _plates(found, origin_xy, corners)
    if not squares and not set(outputs) - FROM_DETECTION - FROM_RECTIFICATION:
        return Plates(tuple(plates))
    logits = read(straight, infer).cpu().numpy()
    readings = read_lines(logits, squares, formats, settings.temperature)
    return Plates(
        tuple(
            with_text(plate, reading, settings.text_threshold, formats)
            for plate, reading in zip(plates, readings, strict=True)
        )
    )


def _formats_of(infer: Infer, given: Formats | None) -> Formats:
    """Return the formats given, or those of the networks that read."""
    own: Formats | None = getattr(infer, "formats", None)
    if given and own and given.alphabet != own.alphabet:
        raise SettingsError(
            f"formats: wanted the alphabet that the weights read, {own.alphabet}, "
            f"got {given.alphabet}"
        )
    return given or own or russian()


def region(picture: Tensor, roi: Roi | None) -> tuple[Tensor, tuple[int, int]]:
    """Return the view of the picture to search and where its first pixel lies (x, y).

    Raises:
        ParameterError: The region has no whole pixel of the picture.
    """
    if roi is None:
        return picture, (0, 0)
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = clip(torch.tensor([roi]), (width, height)).round().int()[0].tolist()
    if x0 >= x1 or y0 >= y1:
        raise ParameterError(f"roi: wanted a part of the {width}x{height} picture, got {roi}")
    return picture[y0:y1, x0:x1], (x0, y0)


def find(picture: Tensor, infer: Infer, settings: Settings) -> Detections:
    """Detect plates and keep the best of those that overlap."""
    box = letterbox(picture, settings.detector_side_px)
    rows = infer(DETECTOR, {INPUT: box.net})[OUTPUT]
    return keep_best(rows, box, (picture.shape[1], picture.shape[0]), settings)


def cut(picture: Tensor, xyxy: Tensor, squares: list[int]) -> Tensor:
    """Return the crops of all boxes, and behind them the unfolded ones of the square boxes."""
    crops = crop_plates(picture, xyxy)
    if not squares:
        return crops
    return torch.cat((crops, crop_plates(picture, xyxy[squares], lines=2)))


def straighten(crops: Tensor, infer: Infer) -> tuple[Tensor, Tensor]:
    """Rectify crops [N, 3, 24, 94]; return them and each one's theta [N, 2, 3]."""
    answers = [infer(RECTIFIER, {INPUT: chunk}) for chunk in crops.split(MAX_BATCH)]
    straight = torch.cat([answer[OUTPUT] for answer in answers])
    theta = torch.cat([answer[THETA] for answer in answers])
    if straight.shape != crops.shape or theta.shape != (len(crops), 2, 3):
        raise ModelError(
            f"{RECTIFIER}: wanted {list(crops.shape)} and [{len(crops)}, 2, 3], "
            f"got {list(straight.shape)} and {list(theta.shape)}"
        )
    return straight, theta


def read(straight: Tensor, infer: Infer) -> Tensor:
    """Return the logits [N, 24, 18] of rectified crops [N, 3, 24, 94]."""
    chunks = straight.split(MAX_BATCH)
    logits = torch.cat([infer(READER, {INPUT: chunk})[OUTPUT] for chunk in chunks])
    if len(logits) != len(straight):
        raise ModelError(f"{READER}: wanted {len(straight)} rows, got {len(logits)}")
    return logits


def corners_of(theta: Tensor, boxes: list[tuple[int, int, int, int]]) -> Tensor:
    """Map the corners of STN's output back to the picture.

    Args:
        theta: float32 [N, 2, 3], from output to input coordinates, both in [-1, 1].
        boxes: The N whole-pixel boxes the crops were cut from.

    Returns:
        float32 [N, 4, 2] pixels, clockwise from top-left.
    """
    square = torch.tensor([[-1.0, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])
    normal = square @ theta.float().cpu().transpose(1, 2)
    xyxy = torch.tensor(boxes, dtype=torch.float32)[:, None]
    return xyxy[..., :2] + (normal + 1) / 2 * (xyxy[..., 2:] - xyxy[..., :2])


def _plates(
    found: Detections, origin_xy: tuple[int, int], corners: Tensor | None = None
) -> list[Plate]:
    """Make plates of detections, moved from the region to the picture."""
    x, y = origin_xy
    boxes = (found.xyxy + torch.tensor([x, y, x, y])).tolist()
    quads = [()] * len(boxes) if corners is None else (corners + torch.tensor([x, y])).tolist()
    return [
        Plate(
            xyxy=(x0, y0, x1, y1),
            detection_score=score,
            corners=tuple((cx, cy) for cx, cy in quad),
        )
        for (x0, y0, x1, y1), score, quad in zip(boxes, found.scores, quads, strict=True)
    ]
