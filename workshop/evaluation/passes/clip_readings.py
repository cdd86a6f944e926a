"""Readings of the frames of clips, kept in files.

Recognition takes most of the time. With the file, another tracker is measured in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import torch

from orchestrator.plates import Plate, PlateCountry, PlateRegion, Plates
from plate_cameras.frames import Frame, Xyxy
from plate_cameras.tracking.plate_pixels import PlatePixels

JPEG_QUALITY = 90
ENDING = ".readings.json"

Recognize = Callable[[torch.Tensor], Plates]
"""Finds and reads the plates of a picture, uint8 [H, W, 3] BGR."""


@dataclass(frozen=True)
class ReadFrame:
    """A frame of a clip with its plates, without its pixels.

    Attributes:
        sharpness: Sharpness of each plate.
    """

    camera: str
    number: int
    time_s: float
    size_wh: tuple[int, int]
    plates: tuple[Plate, ...]
    sharpness: tuple[float, ...]

    @property
    def frame(self) -> Frame:
        """The frame; its JPEG is empty."""
        return Frame(self.camera, self.number, self.time_s, "file", b"", self.size_wh)


@dataclass(frozen=True)
class KnownPixels(PlatePixels):
    """Gives the sharpness of plates that was measured before, and empty crops."""

    frames: Sequence[ReadFrame]

    def measure(self, frame: Frame, boxes: Sequence[Xyxy]) -> list[float]:
        read_frame = self.frames[frame.number]
        sharpness_by_box = {
            plate.xyxy: sharpness
            for plate, sharpness in zip(read_frame.plates, read_frame.sharpness, strict=True)
        }
        return [sharpness_by_box[box] for box in boxes]

    def crop(self, frame: Frame, box: Xyxy, others: Sequence[Xyxy]) -> bytes:
        del frame, box, others
        return b""


def read_clip(
    clip: Path, recognize: Recognize, looks_per_s: float, folder: Path
) -> tuple[ReadFrame, ...]:
    """Return the readings of a clip: those of its file, or new ones, which are kept there.

    Args:
        clip: A video file.
        recognize: Finds and reads plates.
        looks_per_s: Most frames a second that are read.
        folder: Folder of the files. A file that is older than its clip is not used.
    """
    file = folder / f"{clip.stem}.{looks_per_s:g}{ENDING}"
    if file.is_file() and file.stat().st_mtime >= clip.stat().st_mtime:
        return tuple(map(_to_frame, json.loads(file.read_text(encoding="utf-8"))))
    frames = tuple(_read(frame, recognize) for frame in clip_frames(clip, looks_per_s))
    file.write_text(json.dumps([asdict(frame) for frame in frames]), encoding="utf-8")
    return frames


def clip_frames(clip: Path, looks_per_s: float) -> Iterator[Frame]:
    """Yield the frames of a clip as JPEG files, at most so many a second."""
    next_s, number = 0.0, 0
    with av.open(str(clip)) as container:
        container.streams.video[0].thread_count = 1
        for video_frame in container.decode(video=0):
            time_s = float(video_frame.time or 0.0)
            if time_s + 1e-6 < next_s:
                continue
            next_s = max(next_s + 1 / looks_per_s, time_s)
            bgr = video_frame.to_ndarray(format="bgr24")
            jpeg = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()
            yield Frame(clip.stem, number, time_s, "file", jpeg, (bgr.shape[1], bgr.shape[0]))
            number += 1


def _read(frame: Frame, recognize: Recognize) -> ReadFrame:
    bgr = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
    plates = recognize(torch.from_numpy(bgr))
    sharpness = PlatePixels().measure(frame, [plate.xyxy for plate in plates])
    place = (frame.camera, frame.number, frame.time_s, frame.size_wh)
    return ReadFrame(*place, tuple(plates), tuple(sharpness))


def _to_frame(document: dict[str, Any]) -> ReadFrame:
    tuples = {name: tuple(document[name]) for name in ("size_wh", "sharpness")}
    return ReadFrame(**{**document, **tuples, "plates": tuple(map(_to_plate, document["plates"]))})


def _to_plate(document: dict[str, Any]) -> Plate:
    values = {name: tuple(document[name]) for name in ("xyxy", "character_scores")}
    values |= {name: tuple(map(tuple, document[name])) for name in ("candidates", "corners")}
    region = PlateRegion(**document["region"]) if document["region"] else None
    country = PlateCountry(**document["country"]) if document.get("country") else None
    return Plate(**{**document, **values, "region": region, "country": country})
