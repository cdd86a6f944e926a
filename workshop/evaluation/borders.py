"""Counts the texts that are read of plates across borders: each plate's own, and those of others.

    python -m workshop.evaluation.borders --plates 300

A border cuts 0 to 30 % of a rendered plate: that of a region of interest, of the picture, of a
tile, of a camera's zones or masks, or of a plate beside it that is hidden in a kept picture. Only
plates count that are read right in the whole picture. No other text may be shown; of a plate whose
middle lies in a region, its own is wanted. A plate is drawn again if its text is not the same in
four pictures of it that begin some pixels apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from orchestrator.pipeline import Infer, recognize
from orchestrator.plates import Plates
from orchestrator.settings import Roi, Settings
from plate_cameras.blurring import hide_others
from plate_cameras.configuration import Camera, Zone
from plate_cameras.frames import Frame
from plate_cameras.tracking.pass_tracker import PassTracker
from plate_cameras.watching.frame_recognizer import region_of
from workshop.evaluation.bordered_plates import SEED, Drawn, draw_plates, holds
from workshop.evaluation.yolo_labels import Box
from workshop.reporting.tables import format_table

MAX_CUT = 0.3
"""Greatest share of a plate's width or height beyond a border."""
SIDES = ("left", "top", "right", "bottom")
SURE = 0.9
"""Score from which a text counts as sure. About 90 % of the texts with this score are right."""
NO_BORDER = "none"
"""The row of plates that nothing cuts: what its texts show is the reader's fault alone."""
LOOKS = 3
"""Frames of a camera; a pass is agreed at two."""
FAR_WH, FAR_PX, DECOY_PX = (2560, 1440), 60.0, 90.0
"""Size of a picture that gets tiles, width of its plate, and of others that get the tiles."""
TILE_PX = 320


class Shown(NamedTuple):
    """A text that is shown, and its score."""

    text: str
    score: float


@dataclass
class Count:
    """The texts shown for plates across one kind of border."""

    read: int = 0
    unread: int = 0
    others: list[tuple[str, Shown]] = field(default_factory=list)

    def add(self, text: str, shown: Sequence[Shown]) -> None:
        """Count the texts that are shown for a plate; `""` is none."""
        shown = [reading for reading in shown if reading.text]
        self.others += [(text, reading) for reading in shown if reading.text != text]
        self.read += any(reading.text == text for reading in shown)
        self.unread += not shown

    @property
    def sure(self) -> int:
        """Number of texts of other plates that are sure."""
        return sum(reading.score >= SURE for _, reading in self.others)


Look = Callable[[Drawn, float, Infer], list[Shown]]


def look_in_region(side: str) -> Look:
    """Return the look at a plate that a side of a region cuts."""

    def look(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
        roi = _cut(drawn.detected_xyxy, part, side, drawn.size_wh)
        return _texts_of(recognize(drawn.picture, infer, Settings(roi=roi)), drawn.xyxy)

    return look


def look_at_edge(side: str) -> Look:
    """Return the look at a plate that an edge of the picture cuts."""

    def look(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
        x0, y0, x1, y1 = map(round, _cut(drawn.xyxy, part, side, drawn.size_wh))
        picture = np.ascontiguousarray(drawn.picture[y0:y1, x0:x1])
        left, top, right, bottom = drawn.xyxy
        box = (left - x0, top - y0, right - x0, bottom - y0)
        return _texts_of(recognize(picture, infer), box)

    return look


def look_in_tile(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
    """Look at a far plate of a large picture; tiles around two nearer ones cut it."""
    picture = cv2.resize(drawn.picture[:64, :64], FAR_WH).astype(np.uint8)  # a calm sky
    middle = (FAR_WH[0] // 2, FAR_WH[1] // 2)
    box = _paste(picture, drawn, FAR_PX, middle)
    for side, y in ((-1, -25), (1, 25)):
        edge = (box[2] if side < 0 else box[0]) + side * part * FAR_PX
        _paste(picture, drawn, DECOY_PX, (round(edge + side * TILE_PX / 2), middle[1] + y))
    return _texts_of(recognize(picture, infer), box)


def look_across_zones(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
    """Follow a car that stands with its plate across the border of a camera's zones."""
    wide, high = drawn.size_wh
    x0, y0, x1, y1 = _cut(drawn.detected_xyxy, part, "right", drawn.size_wh)
    corners = ((x0 / wide, y0 / high), (x1 / wide, y0 / high), (x1 / wide, y1 / high))
    zones = (
        Zone("entry", (*corners, (x0 / wide, y1 / high))),
        Zone("corner", ((0.0, 0.0), (0.1, 0.0), (0.0, 0.1))),
    )
    return _follow(Camera("gate", "rtsp://camera", zones=zones, only_in_zones=True), drawn, infer)


def look_under_mask(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
    """Follow a car that stands with a part of its plate in a camera's mask."""
    edge = _cut(drawn.detected_xyxy, part, "right", drawn.size_wh)[2] / drawn.size_wh[0]
    mask = Zone("wall", ((edge, 0.0), (1.0, 0.0), (1.0, 1.0), (edge, 1.0)))
    return _follow(Camera("gate", "rtsp://camera", masks=(mask,)), drawn, infer)


def look_beside_hidden(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
    """Look at a kept picture in which a neighbour's box, that overlaps the plate's, is hidden."""
    x0, y0, x1, y1 = drawn.detected_xyxy
    edge = x1 - part * (x1 - x0)
    kept = hide_others(drawn.picture, drawn.detected_xyxy, [(edge, y0, edge + x1 - x0, y1)])
    return _texts_of(recognize(kept, infer), drawn.xyxy)


def look_away_from_borders(drawn: Drawn, part: float, infer: Infer) -> list[Shown]:
    """Look at a plate that nothing cuts, in a picture that begins some pixels further."""
    start = round(part * 100)
    x0, y0, x1, y1 = drawn.xyxy
    picture = drawn.picture[start:, start:].copy()
    return _texts_of(recognize(picture, infer), (x0 - start, y0 - start, x1 - start, y1 - start))


KINDS: dict[str, Look] = {
    NO_BORDER: look_away_from_borders,
    **{f"region, {side}": look_in_region(side) for side in SIDES},
    **{f"picture, {side}": look_at_edge(side) for side in SIDES},
    "tiles": look_in_tile,
    "zones": look_across_zones,
    "mask": look_under_mask,
    "hidden plate": look_beside_hidden,
}
"""The looks at a plate across each kind of border."""


def count_texts(plates: int, infer: Infer, seed: int = SEED) -> dict[str, Count]:
    """Draw plates across each kind of border, and count the texts that are shown."""
    counts = {name: Count() for name in KINDS}
    rng = np.random.default_rng(seed)
    for drawn in draw_plates(plates, infer, seed):
        for name, look in KINDS.items():
            counts[name].add(drawn.text, look(drawn, float(rng.uniform(0, MAX_CUT)), infer))
    return counts


def describe(counts: dict[str, Count]) -> str:
    """Return a table of the counts, and all texts of other plates."""
    rows = [
        (name, count.read, count.unread, len(count.others), count.sure)
        for name, count in counts.items()
    ]
    table = format_table(("border", "read", "no text", "another text", "of these sure"), rows)
    others = [
        f"{name}: {text}: {shown.text}, {shown.score:.2f}"
        for name, count in counts.items()
        for text, shown in count.others
    ]
    return "\n".join([table, *others])


def _follow(camera: Camera, drawn: Drawn, infer: Infer) -> list[Shown]:
    """Return the texts of the passes that a camera tells of a standing car."""
    tracker, region = PassTracker(camera), region_of(camera, drawn.size_wh)
    jpeg = cv2.imencode(".jpg", drawn.picture)[1].tobytes()
    plates = recognize(drawn.picture, infer, Settings(roi=region))
    events = [
        event
        for number in range(LOOKS)
        for event in tracker.update(
            Frame(camera.name, number, 1.8e9 + number / 4, "wall", jpeg, drawn.size_wh), plates
        )
    ]
    passes = {event.passed.id: event.passed for event in [*events, *tracker.close()]}
    of_plate = [
        vehicle_pass
        for vehicle_pass in passes.values()
        if holds(drawn.xyxy, vehicle_pass.best.observation.plate.xyxy)
    ]
    return [Shown(vehicle_pass.text, vehicle_pass.text_score) for vehicle_pass in of_plate]


def _cut(box: Box, part: float, side: str, size_wh: tuple[int, int]) -> Roi:
    """Return the picture without all that lies beyond a line across a box."""
    x0, y0, x1, y1 = box
    width, height = part * (x1 - x0), part * (y1 - y0)
    lines = {"left": x0 + width, "top": y0 + height, "right": x1 - width, "bottom": y1 - height}
    whole = {"left": 0.0, "top": 0.0, "right": float(size_wh[0]), "bottom": float(size_wh[1])}
    left, top, right, bottom = (whole | {side: lines[side]}).values()
    return left, top, right, bottom


def _paste(picture: Bgr, drawn: Drawn, width_px: float, middle: tuple[int, int]) -> Box:
    """Paste the surroundings of a plate into a picture, scaled; return the plate's box there."""
    x0, y0, x1, y1 = map(round, drawn.xyxy)
    high = y1 - y0
    part = drawn.picture[max(0, y0 - high // 2) : y1 + high // 2, max(0, x0 - high) : x1 + high]
    scale = width_px / (x1 - x0)
    small = cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    tall, wide = small.shape[:2]
    left, top = middle[0] - wide // 2, middle[1] - tall // 2
    picture[top : top + tall, left : left + wide] = small
    at = (left + scale * min(x0, high), top + scale * min(y0, high // 2))
    return (at[0], at[1], at[0] + scale * (x1 - x0), at[1] + scale * high)


def _texts_of(plates: Plates, box: Box) -> list[Shown]:
    """Return the texts that are shown for a plate: of the boxes whose middle lies in its own."""
    inside = [plate for plate in plates if holds(box, plate.xyxy)]
    return [Shown(plate.text, plate.text_score) for plate in inside]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; the exit status is 1 if a border has more sure texts of others than none."""
    parser = argparse.ArgumentParser(
        "workshop.evaluation.borders", description="Plates at borders."
    )
    parser.add_argument("--plates", type=int, default=300, help="across each kind of border; 300")
    parser.add_argument("--seed", type=int, default=SEED, help="of the plates")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU; all cores")
    options = parser.parse_args(arguments)
    networks = load_networks(engine=Engine.OPENVINO_INT8, threads=options.threads)
    counts = count_texts(options.plates, networks, options.seed)
    print(describe(counts))  # noqa: T201
    if max(count.sure for count in counts.values()) > counts[NO_BORDER].sure:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
