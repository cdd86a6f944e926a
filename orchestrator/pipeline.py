"""The pipeline for one picture: finds the plates, straightens them and reads them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np

from orchestrator.arrays import Array, Infer, Tensors
from orchestrator.contract import ALL_OUTPUTS, FROM_DETECTION, FROM_RECTIFICATION, TEXTS
from orchestrator.detection.postprocessing import Detections
from orchestrator.detection.search import detect, search
from orchestrator.formats.layouts import code_in
from orchestrator.formats.plate_formats import Formats
from orchestrator.formats.regions import region_with
from orchestrator.imaging.decoding import check_picture
from orchestrator.plates import Plate, Plates
from orchestrator.reading.affine_crops import compose, corners_of, frames_of
from orchestrator.reading.closer_look import closer_look
from orchestrator.reading.countries import with_country
from orchestrator.reading.crops import crop_boxes, cut_boxes, normalize_crops, resize_crop
from orchestrator.reading.ctc import Reading
from orchestrator.reading.hidden_ends import find_hidden_ends
from orchestrator.reading.improvement import improve
from orchestrator.reading.reader import MIN_WIDTH_PX, PlateReadings, Reader, may_gain
from orchestrator.reading.second_pass import SECOND_PASS
from orchestrator.reading.third_pass import THIRD_PASS
from orchestrator.settings import Settings

__all__ = ["Infer", "Tensors", "read_crop", "recognize", "with_text"]

CUT_TRUST = 0.5
"""Factor of the probabilities of texts of plates that may be cut: of rendered plates that lost up
to 30 % at the right, half of the texts that had been shown were right."""


def recognize(
    picture: Array,
    infer: Infer,
    settings: Settings | None = None,
    *,
    formats: Formats | None = None,
    outputs: Collection[str] = ALL_OUTPUTS,
) -> Plates:
    """Find and read every plate of a picture.

    Args:
        picture: uint8 [H, W, 3] BGR, on the CPU or a GPU.
        infer: Runs one of the three networks; this function has no other side effect.
        settings: Thresholds and limits.
        formats: The plate formats, in the alphabet of the reader. None means the formats of
            `infer`, or Russian plates if it has none.
        outputs: Names of the outputs that will be used. Networks that none of them needs do not
            run, and their part of a `Plate` stays empty.

    Returns:
        The plates, best detection first, in pixels of the given picture. Plates in boxes narrower
        than `MIN_WIDTH_PX` are not read: they have no text, and their corners are the box's.
        Texts of plates that the edge of the picture may cut, or whose end something hides, have
        lower scores.

    Raises:
        PictureError: Not a uint8 [H, W, 3] picture, or too many pixels.
        ParameterError: The region of interest lies outside the picture.
        ModelError: A network answered with tensors of another shape, or the detector's rows break
            its contract.
        SettingsError: The formats have another alphabet than the formats of `infer`.
    """
    settings, beyond_boxes = settings or Settings(), set(outputs) - FROM_DETECTION
    reader = Reader.of(infer, settings, formats, reads=bool(beyond_boxes - FROM_RECTIFICATION))
    yolo, stn, lprnet, decode = partial(detect, infer), reader.stn, reader.lprnet, reader.decode
    check_picture(picture, max_pixels=settings.max_pixels)
    size_wh = (picture.shape[1], picture.shape[0])

    detections = search(picture, yolo, settings)
    if not len(detections.scores) or not beyond_boxes:
        return Plates(tuple(_plates(detections)))  # the early exit
    frames = frames_of(detections.xyxy)
    readable = np.flatnonzero(detections.xyxy[:, 2] - detections.xyxy[:, 0] >= MIN_WIDTH_PX)
    if not len(readable):
        return Plates(tuple(_plates(detections, frames)))

    boxes = detections.xyxy[readable]
    cuts = crop_boxes(picture, boxes)
    straight_crops, theta = stn(cut_boxes(picture, cuts))
    logits = lprnet(straight_crops)
    readings = decode(logits)
    readable_plates = PlateReadings(boxes, compose(frames_of(cuts), theta), logits, readings)
    if may_gain(readable_plates, reader):
        improvements = (SECOND_PASS, THIRD_PASS, closer_look(yolo, settings))
        readable_plates = improve(picture, readable_plates, reader, improvements)

    frames[readable] = readable_plates.frames
    readings = readable_plates.readings
    hidden_ends = find_hidden_ends(picture, readable_plates.frames, readings, reader.formats)
    reader.lap(TEXTS)
    plates = _plates(detections, frames)
    for row, (index, reading) in enumerate(zip(readable, readings, strict=reader.reads)):
        if row in hidden_ends or plates[index].may_be_cut(size_wh):
            reading = doubt(reading)
        plates[index] = with_text(plates[index], reading, settings.text_threshold, reader.formats)
    return Plates(tuple(plates))


def read_crop(
    crop: Array, infer: Infer, settings: Settings, *, formats: Formats | None = None
) -> Plates:
    """Read a tight crop of one plate of one line, as the ensemble `plate_reader` does.

    Args:
        crop: uint8 [H, W, 3] BGR.
        infer: Runs the networks; only `stn` and `lprnet` are needed.
        settings: Thresholds and limits.
        formats: See `recognize`.

    Returns:
        One plate; its box is the whole crop.

    Raises:
        PictureError: Not a uint8 [H, W, 3] picture, or too many pixels.
        ModelError: A network answered with tensors of another shape.
    """
    reader = Reader.of(infer, settings, formats)
    check_picture(crop, max_pixels=settings.max_pixels)
    straight_crops, theta = reader.stn(normalize_crops(resize_crop(crop)))
    (reading,) = reader.decode(reader.lprnet(straight_crops))
    height, width = crop.shape[:2]
    xyxy = (0.0, 0.0, float(width), float(height))
    (quad,) = corners_of(compose(frames_of([xyxy]), theta)).tolist()
    plate = Plate(xyxy, corners=tuple((x, y) for x, y in quad))
    return Plates((with_text(plate, reading, settings.text_threshold, reader.formats),))


def _plates(detections: Detections, frames: Array | None = None) -> list[Plate]:
    """Make plates of detections, with the corners of their frames."""
    quads = [()] * len(detections.scores) if frames is None else corners_of(frames).tolist()
    return [
        Plate(
            xyxy=(x0, y0, x1, y1),
            detection_score=score,
            corners=tuple((x, y) for x, y in quad),
        )
        for (x0, y0, x1, y1), score, quad in zip(
            detections.xyxy.tolist(), detections.scores.tolist(), quads, strict=True
        )
    ]


def doubt(reading: Reading) -> Reading:
    """Return the reading of a plate that may be cut: its texts are less probable."""
    candidates = tuple((text, CUT_TRUST * score) for text, score in reading.candidates)
    return replace(reading, candidates=candidates)


def with_text(plate: Plate, reading: Reading, text_threshold: float, formats: Formats) -> Plate:
    """Add the reading; the best candidate becomes the text when its score is high enough."""
    if formats.country:
        return with_country(plate, reading, text_threshold, formats)
    best_text = reading.candidates[0][0] if reading.candidates else ""
    text = best_text if reading.score >= text_threshold else ""
    name, layout = formats.match(text, reading.lines)
    return Plate(  # made anew: `replace` takes three times as long
        plate.xyxy,
        plate.detection_score,
        text=text,
        text_score=reading.score,
        raw_text=reading.raw_text,
        character_scores=reading.character_scores,
        candidates=reading.candidates,
        corners=plate.corners,
        format=name,
        region=region_with(formats, code_in(text, layout)),
    )
