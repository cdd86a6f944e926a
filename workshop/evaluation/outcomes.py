"""Finds the outcome of each labelled plate, and the detections of each picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from orchestrator.errors import DataError, PictureError
from orchestrator.imaging.decoding import read_picture
from orchestrator.plates import Plate, Plates
from workshop.evaluation.conditions.camera_conditions import AS_IT_IS, Condition
from workshop.evaluation.datasets import Box, BoxedPicture, LabelledPlate, Point, Scene
from workshop.evaluation.detection import DetectedPicture

READ, WRONG, NOT_SHOWN, MISSED = ("read", "wrong", "not shown", "missed")


@dataclass(frozen=True)
class Outcome:
    """A labelled plate and the answer for it.

    Attributes:
        answer: The plate that was found there; None when none was found.
    """

    path: Path
    label: LabelledPlate
    answer: Plate | None = None

    @property
    def verdict(self) -> str:
        """`read`, `wrong` (another text is shown), `not shown` (score too low) or `missed`."""
        if self.answer is None:
            return MISSED
        if not self.answer.text:
            return NOT_SHOWN
        return READ if self.answer.text == self.label.text else WRONG

    @property
    def best(self) -> str:
        """The best reading, shown or not; `""` without one."""
        return next((text for text, _ in self.answer.candidates), "") if self.answer else ""

    @property
    def score(self) -> float:
        return self.answer.text_score if self.answer else 0.0

    @property
    def is_right(self) -> bool:
        """Tell whether the best reading, shown or not, is the wanted one."""
        return self.best == self.label.text

    @property
    def width_px(self) -> float:
        """The width of the detected box."""
        return self.answer.xyxy[2] - self.answer.xyxy[0] if self.answer else 0.0

    @property
    def tilt_deg(self) -> float:
        """The angle of the plate's horizontal edges, clockwise, in [-180, 180]."""
        if self.answer is None or not self.answer.corners:
            return 0.0
        top_left, top_right, bottom_right, bottom_left = self.answer.corners
        x = top_right[0] - top_left[0] + bottom_right[0] - bottom_left[0]
        y = top_right[1] - top_left[1] + bottom_right[1] - bottom_left[1]
        return math.degrees(math.atan2(y, x))


def judge(
    scene: Scene, plates: Plates, to_source: Callable[[Point], Point] = lambda point: point
) -> list[Outcome]:
    """Find the answer for each labelled plate of a picture.

    If a region has several answers, the one with the right text counts, else the best detection.

    Args:
        scene: The labelled picture.
        plates: The answer for the picture, or for a changed view of it.
        to_source: Maps points of the recognised view to points of the labelled picture.
    """
    centres = [to_source(centre_of(plate.xyxy)) for plate in plates]
    outcomes = []
    for label in scene.plates:
        inside = [
            plate for plate, centre in zip(plates, centres, strict=True) if label.holds(centre)
        ]
        right = [plate for plate in inside if plate.text == label.text]
        outcomes.append(Outcome(scene.path, label, next(iter(right + inside), None)))
    return outcomes


def centre_of(xyxy: Box) -> Point:
    """Return the centre of a box."""
    return (xyxy[0] + xyxy[2]) / 2, (xyxy[1] + xyxy[3]) / 2


def judge_scenes(
    scenes: Iterable[Scene],
    read: Callable[[Tensor], Plates],
    condition: Condition = AS_IT_IS,
) -> list[Outcome]:
    """Read every scene under a condition; return the outcomes."""
    return [outcome for scene in scenes for outcome in _judge_view(scene, read, condition)]


def _judge_view(
    scene: Scene, read: Callable[[Tensor], Plates], condition: Condition
) -> list[Outcome]:
    view = condition.view(open_picture(scene.path).numpy())
    return judge(scene, read(torch.from_numpy(view.bgr)), view.to_source)


def detect_all(
    pictures: Iterable[BoxedPicture], detect: Callable[[Tensor], Plates]
) -> list[DetectedPicture]:
    """Detect plates in every picture."""
    return [_detect(picture, open_picture(picture.path), detect) for picture in pictures]


def _detect(
    boxed: BoxedPicture, picture: Tensor, detect: Callable[[Tensor], Plates]
) -> DetectedPicture:
    plates = detect(picture)
    return DetectedPicture(
        image=boxed.path.name,
        boxes=tuple(plate.xyxy for plate in plates),
        scores=tuple(plate.detection_score for plate in plates),
        labels=tuple(boxed.labels((picture.shape[1], picture.shape[0]))),
        ignored=boxed.ignored,
    )


def open_picture(path: Path) -> Tensor:
    """Read a picture of a data set.

    Raises:
        DataError: The picture cannot be read.
    """
    try:
        return read_picture(path)
    except PictureError as error:
        raise DataError(f"{path}: wanted a readable picture, got {error}") from error
