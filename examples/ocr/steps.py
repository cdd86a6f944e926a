"""The steps from a picture file to its text, with NumPy and OpenCV only; both forms use them."""

import json
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from orchestrator.imaging.decoding import decode_bgr
from orchestrator.settings import Settings

Array = npt.NDArray[Any]
SIDE_PX = 1280  # longest side of the detector's input; larger pictures are scaled down
IS_TEXT, MEAN_TEXT, UNCLIP = 0.3, 0.5, 1.6  # pixel, region, growth: as published
THINNEST_PX, LEVEL_PX = 3, 8  # least height of a line; lines with tops this near are level
HEIGHT_PX, WIDEST_PX, STEP_PX = 48, 3200, 8  # of a crop, and of a CTC step in it
GREY = 127.5  # becomes 0; black becomes -1 and white 1


def preprocess(file: Array) -> tuple[Array, Array]:
    """Unpack a file, bytes [1], to uint8 [H, W, 3] BGR and the detector's input [1, 3, h, w]."""
    picture = decode_bgr(file[0], max_pixels=Settings().max_pixels)
    scale = min(1.0, SIDE_PX / max(picture.shape))
    size_wh = [max(32, round(side * scale / 32) * 32) for side in picture.shape[1::-1]]
    return picture, cv2.dnn.blobFromImage(picture, 1 / GREY, size_wh, (GREY, GREY, GREY))


def postprocess_0(picture: Array, text_map: Array) -> tuple[Array, Array, Array, Array]:
    """Cut the lines out of a picture where the map [1, 1, h, w] has text, in reading order.

    Returns:
        Crops [N, 3, 48, W], padded to the widest. Without any line there is one blank crop, because
        an ensemble cannot skip the recogniser.

        Corners [N, 4, 2], clockwise from top-left, in pixels of the picture; detection scores [N];
        each crop's CTC steps before the padding [N].
    """
    size_wh = np.array(picture.shape[1::-1], np.float32)
    corners, scores = find_lines(text_map[0, 0])
    corners *= size_wh / text_map.shape[:1:-1]
    lines = [straighten(picture, quad) for quad in corners]
    widths = np.array([line.shape[1] for line in lines], np.int32)
    crops = np.zeros((max(len(lines), 1), 3, HEIGHT_PX, max(widths, default=HEIGHT_PX)), np.float32)
    for crop, line in zip(crops, lines, strict=False):
        crop[:, :, : line.shape[1]] = line.transpose(2, 0, 1) / GREY - 1
    return crops, corners.clip(0, size_wh), scores, -(-widths // STEP_PX)


def find_lines(text_map: Array) -> tuple[Array, Array]:
    """Return corners [N, 4, 2], clockwise from top-left, and mean probability [N] of each line.

    A region above the threshold is the shrunken core of a line; its rectangle grows on each side by
    1.6 x area / perimeter. Source: Liao et al. 2020 (DB, differentiable binarization).
    """
    lines, scores = [], []
    mask = (text_map > IS_TEXT).astype(np.uint8)
    for contour in cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)[0]:
        x, y, width, height = cv2.boundingRect(contour)
        inside = cv2.fillPoly(np.zeros((height, width), np.uint8), [contour], (1,), offset=(-x, -y))
        score = cv2.mean(text_map[y : y + height, x : x + width], inside)[0]
        centre, (rect_width, rect_height), angle = cv2.minAreaRect(contour)
        if min(rect_width, rect_height) >= THINNEST_PX and score >= MEAN_TEXT:
            growth = UNCLIP * rect_width * rect_height / (rect_width + rect_height)
            corners = cv2.boxPoints((centre, (rect_width + growth, rect_height + growth), angle))
            lines.append(np.roll(corners, -corners.sum(axis=1).argmin(), axis=0))
            scores.append(score)
    quads = np.array(lines, np.float32).reshape(-1, 4, 2)
    order = reading_order(quads)
    return quads[order], np.array(scores, np.float32)[order]


def reading_order(corners: Array) -> Array:
    """Return the order from top to bottom; level lines go from left to right."""
    tops = corners[:, :, 1].min(axis=1)
    by_top = tops.argsort()
    rows = np.cumsum(np.diff(tops[by_top], prepend=0) > LEVEL_PX)
    return np.asarray(by_top[np.lexsort((corners[by_top, 0, 0], rows))])


def straighten(picture: Array, corners: Array) -> Array:
    """Cut one line out of the picture: uint8 [48, W, 3]; W follows from its sides."""
    width, height = (np.linalg.norm(corners[end] - corners[0]) for end in (1, 3))
    size_wh = min(max(STEP_PX, round(HEIGHT_PX * width / height)), WIDEST_PX), HEIGHT_PX
    target = np.array([[0, 0], [size_wh[0], 0], size_wh], np.float32)
    matrix = cv2.getAffineTransform(corners[:3], target)
    return np.asarray(cv2.warpAffine(picture, matrix, size_wh, borderMode=cv2.BORDER_REPLICATE))


def postprocess_1(alphabet: str, classes: Array, probs: Array, *lines: Array) -> tuple[Array]:
    """Return JSON records, bytes [1], from the best class of each step [N, T] and its probability.

    A line with an empty reading gets no record. `score` is the probability that there is text, and
    that it is this text.
    """
    records = []
    for row, (corners, score, steps) in enumerate(zip(*lines, strict=True)):
        text, prob = best_path(alphabet, classes[row, :steps], probs[row, :steps])
        quad = corners.astype(float).round(1).tolist()
        records += [{"text": text, "score": prob * float(score), "corners": quad}] if text else []
    return (np.array([json.dumps(records).encode()], np.object_),)


def best_path(alphabet: str, classes: Array, probs: Array) -> tuple[str, float]:
    """Merge repeats, drop blanks (0); the score is the mean of the rest (CTC, Graves 2006)."""
    is_kept = (np.diff(classes, prepend=0) != 0) & (classes != 0)
    text = "".join(alphabet[number] for number in classes[is_kept])
    return text, float(probs[is_kept].mean()) if text else 0.0
