"""A pass: one vehicle that passed a camera, with every reading of its plate, and its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from orchestrator.formats.regions import known_region
from orchestrator.plates import Plate, native_text
from plate_cameras.frames import Clock, Xyxy

Progress = Literal["provisional", "agreed", "closed"]
"""The progress of a pass. It is provisional until two frames agree on a text whose score passes the
camera's threshold. It is closed when the vehicle has left."""
Direction = Literal["", "towards", "away"]
"""The motion of a vehicle as its plate's size shows it; empty while it stands or is not known."""


OURS, CAMERA = "", "camera"
"""Sources of a reading: the service, or the camera that has sent the picture."""


@dataclass(frozen=True)
class Observation:
    """One plate in one frame.

    Attributes:
        time_s: Time of the frame.
        plate: The plate as it was read; its box is in pixels of the frame.
        sharpness: Sharpness of the plate's pixels, in [0, 1].
        weight: The share that this reading has in the text of its pass.
        source: `CAMERA` if the camera itself has read it; empty for the service.
    """

    time_s: float
    plate: Plate
    sharpness: float = 0.0
    weight: float = 0.0
    source: str = ""


@dataclass(frozen=True)
class BestFrame:
    """The frame that shows a pass best. Its own reading is the text of the pass.

    Attributes:
        observation: The plate in this frame.
        size_wh: Size of the frame, pixels.
        crop_jpeg: The plate with a margin, as a JPEG file.
        frame_jpeg: The whole frame, as it was sent to the service; in the store, as it is kept.
        others: Boxes of all other plates in the frame.
        part: The part of the frame that a kept picture shows; None for the whole.
        blur: The choice of what is unrecognisable in a kept picture; empty before it is kept.
        stored_crop: Hash of a crop that the store has, in hexadecimal digits, if it stands for it.
        stored_frame: The same of the frame.
    """

    observation: Observation
    size_wh: tuple[int, int]
    crop_jpeg: bytes = field(repr=False)
    frame_jpeg: bytes = field(repr=False)
    others: tuple[Xyxy, ...] = ()
    part: tuple[int, int, int, int] | None = None
    blur: str = ""
    stored_crop: str | None = None
    stored_frame: str | None = None

    @property
    def pictures(self) -> tuple[bytes, ...]:
        """The JPEG files that there are."""
        return tuple(filter(None, (self.crop_jpeg, self.frame_jpeg)))


@dataclass(frozen=True)
class LineCrossing:
    """A line of the camera's configuration that the plate has crossed.

    Attributes:
        line: Name of the line.
        side: The side on which the plate arrived, as seen from the line's start to its end.
        time_s: Time of the first frame after it.
    """

    line: str
    side: Literal["left", "right"]
    time_s: float


@dataclass(frozen=True)
class Pass:
    """One vehicle that passed a camera, with the data known so far.

    Attributes:
        id: Id of the pass, the same in all its events. Ids sort by their time of creation.
        camera: Name of the camera.
        progress: Provisional, agreed or closed; see `Progress`.
        first_seen_s: Time of the first frame, see `Frame`.
        last_seen_s: Time of the last frame.
        clock: The clock of both times.
        text: Text in Latin look-alikes, from the readings of all frames; `""` when unreadable.
        text_score: In [0, 1], the calibrated probability of `text`.
        format: Name of the plate format of `text`, `""` for none.
        candidates: Best texts with their probabilities, best first.
        direction: Motion as the plate's size shows it.
        crossings: Lines that were crossed, in their order.
        speed_widths_s: Median speed of the plate in the picture, in plate widths a second.
        speed_kmh: Mean speed on the road, see `tracking.road_speed`; None if it is not known.
        speed_error_kmh: Error of `speed_kmh`, which nine in ten passes do not exceed.
        zones: Names of the camera's zones in which the plate was seen, in their order.
        observations: The plate in each frame, in their order.
        best: The frame that shows the plate best.
        last_moment_s: `Frame.moment_s` of the last frame, from which its age is counted; None if
            the pass comes from the store.
    """

    id: str
    camera: str
    progress: Progress
    first_seen_s: float
    last_seen_s: float
    clock: Clock
    text: str
    text_score: float
    format: str
    candidates: tuple[tuple[str, float], ...]
    direction: Direction
    crossings: tuple[LineCrossing, ...]
    speed_widths_s: float
    zones: tuple[str, ...]
    observations: tuple[Observation, ...] = field(repr=False)
    best: BestFrame = field(repr=False)
    last_moment_s: float | None = None
    speed_kmh: float | None = None
    speed_error_kmh: float | None = None


@dataclass(frozen=True)
class Sighting:
    """The passes that one frame has shown. It is no event: nothing about them has changed.

    Attributes:
        camera: Name of the camera.
        pass_ids: Ids of the passes.
        moment_s: Steady time of the frame; None for a frame of a file.
    """

    camera: str
    pass_ids: tuple[str, ...]
    moment_s: float | None


@dataclass(frozen=True)
class LeaseClaim:
    """The lease of the camera under which a watcher has seen a pass.

    Attributes:
        epoch: Epoch of the lease.
        is_certain: True if the lease was valid until the last frame that shows the pass.
    """

    epoch: int
    is_certain: bool


@dataclass(frozen=True)
class PassEvent:
    """A change of a pass that others may want to know.

    A pass has at most one event `agreed` and exactly one event `closed`, which is its last.
    `updated`: the text, a zone, a crossing or the direction of an agreed pass has changed, or
    frames agree on its new text.

    Attributes:
        kind: The kind of change.
        vehicle_pass: The pass after it.
        claim: The lease under which it was seen; None if the camera is not shared.
    """

    kind: Literal["agreed", "updated", "closed"]
    vehicle_pass: Pass
    claim: LeaseClaim | None = None


OF_A_ROW = (
    "id", "camera", "progress", "clock", "first_seen_s", "last_seen_s", "text", "text_score",
    "format", "direction", "speed_widths_s", "speed_kmh", "speed_error_kmh",
)  # fmt: skip
"""Attributes of a pass that a row has in the same form."""
PREFIX = "pass."
"""Event types are `pass.agreed`, `pass.updated` and `pass.closed`."""


def to_document(event: PassEvent) -> dict[str, Any]:
    """Return an event as a JSON document, without pictures.

    Times are RFC 3339 in UTC; for a file's clock, they count from 1970-01-01.
    """
    return {
        "type": PREFIX + event.kind,
        "timestamp": to_rfc3339(event.vehicle_pass.last_seen_s),
        "data": describe_pass(event.vehicle_pass),
    }


def describe_pass(vehicle_pass: Pass) -> dict[str, Any]:
    """Return what others need of a pass: its text, times, motion and the best frame's box."""
    return describe_row(flatten(vehicle_pass))


def flatten(vehicle_pass: Pass) -> dict[str, Any]:
    """Return a pass as the store keeps it in one row, without its readings and pictures."""
    region = known_region(vehicle_pass.text, vehicle_pass.format)
    best = vehicle_pass.best.observation
    return {name: getattr(vehicle_pass, name) for name in OF_A_ROW} | {
        "region_code": region.code if region else "",
        "frames": len(vehicle_pass.observations),
        "candidates": round_scores(vehicle_pass.candidates),
        "zones": [*vehicle_pass.zones],
        "crossings": [{**vars(crossing)} for crossing in vehicle_pass.crossings],
        "best": {
            "time_s": best.time_s,
            "box": round_box(best.plate),
            "size_wh": [*vehicle_pass.best.size_wh],
            "part": vehicle_pass.best.part and [*vehicle_pass.best.part],
            "blur": vehicle_pass.best.blur,
        },
    }


def describe_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a pass that `flatten` has made a row of."""
    region, best = known_region(row["text"], row["format"]), row["best"]
    width, height = best["size_wh"]
    return {
        "id": row["id"],
        "camera": row["camera"],
        "progress": row["progress"],
        "first_seen": to_rfc3339(row["first_seen_s"]),
        "last_seen": to_rfc3339(row["last_seen_s"]),
        "clock": row["clock"],
        "text": row["text"],
        "text_native": native_text(row["text"], row["format"]) or "",
        "text_score": round(row["text_score"], 4),
        "format": row["format"],
        "region_code": row["region_code"],
        "region": region.name if region else "",
        "candidates": describe_candidates(row["candidates"]),
        "direction": row["direction"],
        "crossings": [
            {
                "line": crossing["line"],
                "side": crossing["side"],
                "time": to_rfc3339(crossing["time_s"]),
            }
            for crossing in row["crossings"]
        ],
        "speed_widths_s": round(row["speed_widths_s"], 2),
        "speed_kmh": row["speed_kmh"],
        "speed_error_kmh": row["speed_error_kmh"],
        "zones": [*row["zones"]],
        "frames": row["frames"],
        "best": {
            "time": to_rfc3339(best["time_s"]),
            "xyxy": [*best["box"]],
            "width": width,
            "height": height,
        },
    }


def describe_candidates(pairs: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return texts with their scores for a document."""
    return [{"text": text, "score": round(score, 4)} for text, score in pairs]


def round_scores(candidates: Sequence[tuple[str, float]]) -> list[list[Any]]:
    """Return texts with their scores for a row."""
    return [[text, round(score, 4)] for text, score in candidates]


def round_box(plate: Plate) -> list[float]:
    """Return a plate's box in tenths of a pixel."""
    return [round(side, 1) for side in plate.xyxy]


def to_rfc3339(time_s: float) -> str:
    """Return a Unix time as RFC 3339 in UTC, with milliseconds."""
    at = datetime.fromtimestamp(time_s, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
