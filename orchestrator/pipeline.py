"""The pipeline for one picture: finds the plates, straightens them and reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from orchestrator.arrays import Array, namespace, to_numpy
from orchestrator.contract import (
    ALL_OUTPUTS,
    DETECTOR,
    FROM_DETECTION,
    FROM_RECTIFICATION,
    INPUT,
    OUTPUT,
)
from orchestrator.detection.boxes import clip
from orchestrator.detection.close_ups import (
    CLOSE_UP_SIDE_PX,
    drop_parts,
    keep_close_ups,
    may_be_close_up,
)
from orchestrator.detection.letterbox import Letterbox, letterbox
from orchestrator.detection.nearby import (
    MAX_NEARBY,
    NEARBY_SIDE_PX,
    find_same,
    surroundings_of,
)
from orchestrator.detection.postprocessing import MAX_SHRINKAGE, Detections, best_of, to_pictures
from orchestrator.detection.regions import keep_inside, view_of
from orchestrator.detection.tiles import drop_seen, keep_whole, split_cut, tiles_around
from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats, russian
from orchestrator.imaging.decoding import check_picture
from orchestrator.plates import Plate, Plates
from orchestrator.reading.affine_crops import corners_of, frames_of
from orchestrator.reading.crops import normalize_crops, resize_crop
from orchestrator.reading.ctc import Reading
from orchestrator.reading.passes import choose_closer_look, choose_readable, read_plates
from orchestrator.reading.reader import Infer, PlateReadings, Reader, Tensors, infer_logits, rectify
from orchestrator.reading.readings import doubt, read_lines, with_text
from orchestrator.settings import MAX_PLATES, Settings

__all__ = ["Infer", "Tensors", "read_crop", "recognize"]


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
        Texts of plates that the edge of the picture may cut have lower scores.

    Raises:
        PictureError: Not a uint8 [H, W, 3] picture, or too many pixels.
        ParameterError: The region of interest lies outside the picture.
        ModelError: A network answered with tensors of another shape, or the detector's rows break
            its contract.
        SettingsError: The formats have another alphabet than those of `infer`.
    """
    settings, formats = settings or Settings(), _formats_of(infer, formats)
    check_picture(picture, max_pixels=settings.max_pixels)
    found = search(picture, infer, settings)
    if not len(found.scores) or not set(outputs) - FROM_DETECTION:
        return Plates(tuple(_plates(found)))
    wants_text = bool(set(outputs) - FROM_DETECTION - FROM_RECTIFICATION)
    frames = frames_of(found.xyxy.tolist(), found.xyxy)
    readings: tuple[Reading, ...] = ()
    if readable := choose_readable(found.xyxy):
        reader = Reader(infer, formats, settings.temperature, reads=wants_text)
        boxes = found.xyxy[readable]
        read = _look_closer(picture, boxes, read_plates(picture, boxes, reader), reader, settings)
        frames[readable], readings = read.frames, read.readings
    plates, (height, width) = _plates(found, corners_of(frames)), picture.shape[:2]
    for index, reading in zip(readable, readings, strict=wants_text):
        trusted = doubt(reading) if plates[index].may_be_cut((width, height)) else reading
        plates[index] = with_text(plates[index], trusted, settings.text_threshold, formats)
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
    formats = _formats_of(infer, formats)
    check_picture(crop, max_pixels=settings.max_pixels)
    straight, _ = rectify(normalize_crops(resize_crop(crop)), infer)
    logits = to_numpy(infer_logits(straight, infer))
    (reading,) = read_lines(logits, [1], formats, settings.temperature)
    height, width = crop.shape[:2]
    whole = Plate(xyxy=(0.0, 0.0, float(width), float(height)))
    return Plates((with_text(whole, reading, settings.text_threshold, formats),))


def _formats_of(infer: Infer, given: Formats | None) -> Formats:
    """Return the given formats, or those of the networks that read."""
    own: Formats | None = getattr(infer, "formats", None)
    if given and own and given.alphabet != own.alphabet:
        raise SettingsError(
            f"formats: wanted the alphabet that the weights read, {own.alphabet}, "
            f"got {given.alphabet}"
        )
    return given or own or russian()


def search(picture: Array, infer: Infer, settings: Settings) -> Detections:
    """Find the plates whose middle lies in the region of interest, in pixels of the picture.

    The surroundings of the region are searched, too, so that its border cuts no plate.
    """
    if settings.roi is None:
        return find(picture, infer, settings)
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = view = view_of(settings.roi, (width, height))
    found = find(picture[y0:y1, x0:x1], infer, replace(settings, max_plates=MAX_PLATES))
    whole, cut = split_cut(found, view, (width, height))
    again = _complete(picture, keep_inside(cut, settings.roi), infer, settings)
    return best_of([keep_inside(part, settings.roi) for part in (whole, again)], settings)


def find(picture: Array, infer: Infer, settings: Settings) -> Detections:
    """Detect plates and keep the best of those that overlap.

    In a picture that was scaled down much, the parts with faint or small detections are searched
    again at full size. A picture without a sure detection may be a close-up: it is searched again
    at a small size.
    """
    (found,), (box,) = detect([picture], infer, settings)
    best = _with_tiles(picture, found, box, infer, settings)
    if not may_be_close_up(best, box.net):
        return best
    close_ups = _detect_close_ups(picture, box, infer, settings)
    if not len(close_ups.scores):
        return best
    return best_of([drop_parts(best, close_ups), close_ups], settings)


def detect(
    pictures: Sequence[Array], infer: Infer, settings: Settings
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


def _with_tiles(
    picture: Array, found: Detections, box: Letterbox, infer: Infer, settings: Settings
) -> Detections:
    """Return the best of the detections in a picture and in its tiles, if it needs any.

    Plates that an edge of a tile may cut are completed where no whole one is.
    """
    height, width = picture.shape[:2]
    if box.scale > MAX_SHRINKAGE or not (tiles := tiles_around(found, box.scale, (width, height))):
        return best_of([found], settings)
    parts = [picture[y0:y1, x0:x1] for x0, y0, x1, y1 in tiles]  # all of one size
    seen, _ = detect(parts, infer, settings)
    whole, cut = zip(
        *(split_cut(one, tile, (width, height)) for one, tile in zip(seen, tiles, strict=True)),
        strict=True,
    )
    best = best_of([found, *whole], settings)
    rest = [part for one in cut if len((part := drop_seen(one, best)).scores)]
    return best_of([best, *(_complete(picture, part, infer, settings) for part in rest)], settings)


def _complete(picture: Array, cut: Detections, infer: Infer, settings: Settings) -> Detections:
    """Find the whole plates of detections that a border inside the picture may cut.

    A detection whose plate is not found whole is dropped: a part of a plate is read as another one.
    """
    height, width = picture.shape[:2]
    cut = best_of([cut], replace(settings, max_plates=MAX_NEARBY))
    nearby = _find_nearby(picture, cut.xyxy, infer, settings)
    kept = [index for index, box in enumerate(nearby) if box is not None]
    if not kept:
        return Detections(cut.xyxy[:0], cut.scores[:0])
    wholes = namespace(cut.xyxy).stack([nearby[index] for index in kept])
    return Detections(clip(wholes, (width, height)), cut.scores[kept])


def _detect_close_ups(
    picture: Array, box: Letterbox, infer: Infer, settings: Settings
) -> Detections:
    """Search a picture for plates that fill it, at a small size: its letterbox is shrunk again."""
    trimmed, small = box.trim(), replace(settings, detector_side_px=CLOSE_UP_SIDE_PX)
    (seen,), _ = detect([trimmed.net[0]], infer, small)
    height, width = picture.shape[:2]
    xyxy = clip(trimmed.to_source(seen.xyxy), (width, height))
    return keep_close_ups(replace(seen, xyxy=xyxy), width)


def _look_closer(
    picture: Array, xyxy: Array, before: PlateReadings, reader: Reader, settings: Settings
) -> PlateReadings:
    """Find unsure plates again, from nearby, and read them in those boxes, too.

    The surer of both readings of a plate counts.
    """
    unsure = choose_closer_look(before)
    nearby = _find_nearby(picture, xyxy[unsure], reader.infer, settings) if unsure else []
    boxes = {plate: box for plate, box in zip(unsure, nearby, strict=True) if box is not None}
    if not boxes:
        return before
    stacked = namespace(xyxy).stack([*boxes.values()])
    return before.with_second_boxes([*boxes], read_plates(picture, stacked, reader))


def _find_nearby(
    picture: Array, xyxy: Array, infer: Infer, settings: Settings
) -> list[Array | None]:
    """Find the plates of boxes [N, 4] again in their surroundings; None if one is not whole there.

    The detector gets them one by one: a batch of another size would be another shape to prepare.
    """
    nearby = replace(settings, detector_side_px=NEARBY_SIDE_PX)
    found: list[Array | None] = []
    for box, (x0, y0, x1, y1) in zip(xyxy, xyxy.tolist(), strict=True):
        part = surroundings_of(picture, (x0, y0, x1, y1))
        (seen,), _ = detect([part.net[0]], infer, nearby)
        whole = keep_whole(best_of([seen], nearby), (NEARBY_SIDE_PX, NEARBY_SIDE_PX))
        found.append(find_same(part.to_source(whole.xyxy), box))
    return found


def _plates(found: Detections, corners: Array | None = None) -> list[Plate]:
    """Make plates of detections."""
    quads = [()] * len(found.scores) if corners is None else corners.tolist()
    return [
        Plate(
            xyxy=(x0, y0, x1, y1),
            detection_score=score,
            corners=tuple((x, y) for x, y in quad),
        )
        for (x0, y0, x1, y1), score, quad in zip(
            found.xyxy.tolist(), found.scores.tolist(), quads, strict=True
        )
    ]
