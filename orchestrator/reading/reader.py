"""Calls of STN and LPRNet, the readings of a picture's plates, and those that need another pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.arrays import Array, namespace, to_cpu
from orchestrator.contract import INPUT, MAX_BATCH, OUTPUT, READER, RECTIFIER, THETA
from orchestrator.detection.postprocessing import WIDEST_SQUARE
from orchestrator.errors import ModelError
from orchestrator.formats.plate_formats import Formats
from orchestrator.reading.affine_crops import sizes_of
from orchestrator.reading.ctc import Reading
from orchestrator.reading.readings import join_readings

Tensors = Mapping[str, Array]
Infer = Callable[[str, Tensors], Tensors]
"""Runs the named network: `infer("yolo", {"input__0": net})["output__0"]`.

It may have an attribute `formats`, as that of `load_networks` has: the plate formats of its
weights.
"""
MAX_THETA = 1000.0
"""Largest number that a theta may hold. Thetas of plates are below 2; with 1e30 nothing can be
cut."""
SURE_FROM = 0.9
"""Readings with a lower score get a second pass, and then perhaps a third."""
UNREADABLE_BELOW = 0.001
"""Readings with a lower score get no further pass: they are no plate, or stay unreadable."""


@dataclass(frozen=True)
class Reader:
    """The networks that read plates, and the texts that they may return.

    Attributes:
        infer: Runs a network.
        formats: The plate formats.
        temperature: Divides the logits.
        reads: Texts are wanted; if false, only STN runs.
    """

    infer: Infer
    formats: Formats
    temperature: float = 1.0
    reads: bool = True


@dataclass(frozen=True)
class PlateReadings:
    """The frames and readings of the N plates of a picture.

    Attributes:
        frames: The plates' frames, float32 [N, 2, 3].
        readings: The N readings; none when texts are not wanted.
        logits: The logits of the readings, float32 [N, classes, 18]; empty when texts are not
            wanted.
    """

    frames: Array
    readings: tuple[Reading, ...]
    logits: Array

    def with_surer(self, plates: Sequence[int], others: PlateReadings) -> PlateReadings:
        """Return these readings, with those of other cuts in place of less sure ones.

        Args:
            plates: For each other reading, the index of its plate.
            others: The other readings.
        """
        readings, logits, frames = [*self.readings], [*self.logits], [*self.frames]
        for plate, reading, seen, frame in zip(
            plates, others.readings, others.logits, others.frames, strict=True
        ):
            if reading.score > readings[plate].score:
                readings[plate], logits[plate], frames[plate] = reading, seen, frame
        stack = namespace(self.frames).stack
        return PlateReadings(stack(frames), tuple(readings), stack(logits))

    def with_second_boxes(self, plates: Sequence[int], others: PlateReadings) -> PlateReadings:
        """Return these readings, joined with those of second boxes; see `join_readings`.

        Args:
            plates: For each other reading, the index of its plate.
            others: The other readings.
        """
        readings = [*self.readings]
        for plate, other in zip(plates, others.readings, strict=True):
            readings[plate] = join_readings(readings[plate], other)
        return replace(self.with_surer(plates, others), readings=tuple(readings))


def list_unsure(readings: PlateReadings) -> list[int]:
    """Return the indices of plates that can be read, but not with a high score."""
    return [
        plate
        for plate, reading in enumerate(readings.readings)
        if UNREADABLE_BELOW <= reading.score < SURE_FROM
    ]


def are_square(frames: Array) -> Array:
    """Tell which of the frames [N, 2, 3] are so high that their plates may have two lines, [N]."""
    widths, heights = sizes_of(frames).T
    return widths < WIDEST_SQUARE * heights


def rectify(crops: Array, infer: Infer) -> tuple[Array, Array]:
    """Rectify crops [N, 3, 24, 94]; return them and each one's theta [N, 2, 3]."""
    answers = [infer(RECTIFIER, {INPUT: chunk}) for chunk in chunks_of(crops)]
    straight = join([answer[OUTPUT] for answer in answers])
    theta = to_cpu(join([answer[THETA] for answer in answers]))
    if straight.shape != crops.shape or theta.shape != (len(crops), 2, 3):
        raise ModelError(
            f"{RECTIFIER}: wanted {list(crops.shape)} and [{len(crops)}, 2, 3], "
            f"got {list(straight.shape)} and {list(theta.shape)}"
        )
    if not namespace(theta).isfinite(theta).all():
        raise ModelError(f"{RECTIFIER}: wanted a finite theta, got NaN or infinity")
    largest = abs(theta).max().item()
    if largest > MAX_THETA:
        raise ModelError(f"{RECTIFIER}: wanted a theta up to {MAX_THETA:g}, got {largest:g}")
    return straight, theta


def infer_logits(straight: Array, infer: Infer) -> Array:
    """Return the logits [N, classes, 18] of rectified crops [N, 3, 24, 94]."""
    logits = join([infer(READER, {INPUT: chunk})[OUTPUT] for chunk in chunks_of(straight)])
    if len(logits) != len(straight):
        raise ModelError(f"{READER}: wanted {len(straight)} rows, got {len(logits)}")
    return logits


def chunks_of(crops: Array) -> list[Array]:
    """Divide crops [N, 3, 24, 94] into the batches that the networks take."""
    return [crops[at : at + MAX_BATCH] for at in range(0, len(crops), MAX_BATCH)]


def join(parts: Sequence[Array]) -> Array:
    """Concatenate the answers of batches; a single one is not copied."""
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concatenate(parts)
