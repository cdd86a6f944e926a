"""STN straightens crops, LPRNet reads them, and CTC decoding turns its logits into texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.arrays import Array, Infer, Tensors, namespace, to_numpy
from orchestrator.contract import CROPS, INPUT, MAX_BATCH, OUTPUT, READER, RECTIFIER, TEXTS, THETA
from orchestrator.detection.postprocessing import WIDEST_SQUARE
from orchestrator.errors import ModelError, SettingsError
from orchestrator.formats.plate_formats import Formats, russian
from orchestrator.plates import CANDIDATES
from orchestrator.reading.affine_crops import sizes_of, tilts_of
from orchestrator.reading.ctc import Reading, decode
from orchestrator.reading.grammar import Grammar
from orchestrator.settings import Settings

MAX_THETA = 1000.0
"""Largest number that a theta may hold. Thetas of plates are below 2; with 1e30 nothing can be
cut."""
MIN_WIDTH_PX = 28
"""Width of the narrowest boxes whose plates are read: of 199 in narrower ones, none was read right.
"""
SURE_FROM = 0.9
"""Readings with a lower score are improved."""
UNREADABLE_BELOW = 0.001
"""Readings with a lower score are hardly improved: they are no plate, or stay unreadable."""
TILTED_DEG = 8.0
"""Plates with a greater tilt are cut again along their edges."""


@dataclass(frozen=True)
class Reader:
    """The networks that read plates, and the texts that they may return.

    Attributes:
        infer: Runs a network.
        formats: The plate formats.
        temperature: Divides the logits.
        reads: Texts are wanted; if false, only STN runs.
        lap: Is called with the name of each stage that ends without a network; see `Infer`.
    """

    infer: Infer
    formats: Formats
    temperature: float = 1.0
    reads: bool = True
    lap: Callable[[str], None] = lambda stage: None

    @classmethod
    def of(
        cls, infer: Infer, settings: Settings, formats: Formats | None = None, *, reads: bool = True
    ) -> Reader:
        """Return the reader of the given formats, or of those of the networks.

        Raises:
            SettingsError: The formats have another alphabet than the networks read.
        """
        own: Formats | None = getattr(infer, "formats", None)
        if formats and own and formats.alphabet != own.alphabet:
            raise SettingsError(
                f"formats: wanted the alphabet that the weights read, {own.alphabet}, "
                f"got {formats.alphabet}"
            )
        lap = getattr(infer, "lap", cls.lap)
        return cls(infer, formats or own or russian(), settings.temperature, reads, lap)

    def stn(self, crops: Array) -> tuple[Array, Array]:
        """Straighten crops [N, 3, 24, 94]; return them, and each one's theta [N, 2, 3] of NumPy.

        Raises:
            ModelError: STN answered with tensors of another shape, or with a wrong theta.
        """
        answer = self._run(RECTIFIER, crops)
        straight_crops, theta = answer[OUTPUT], to_numpy(answer[THETA])
        if straight_crops.shape != crops.shape or theta.shape != (len(crops), 2, 3):
            raise ModelError(
                f"{RECTIFIER}: wanted {list(crops.shape)} and [{len(crops)}, 2, 3], "
                f"got {list(straight_crops.shape)} and {list(theta.shape)}"
            )
        if not np.isfinite(theta).all():
            raise ModelError(f"{RECTIFIER}: wanted a finite theta, got NaN or infinity")
        largest = abs(theta).max()
        if largest > MAX_THETA:
            raise ModelError(f"{RECTIFIER}: wanted a theta up to {MAX_THETA:g}, got {largest:g}")
        return straight_crops, theta

    def lprnet(self, straight_crops: Array) -> Array:
        """Return the logits [N, classes, 18] of straight crops, of NumPy; none without texts.

        Raises:
            ModelError: LPRNet answered with another number of rows.
        """
        if not self.reads:
            return np.empty((0, self.formats.classes, 0), np.float32)
        logits = to_numpy(self._run(READER, straight_crops)[OUTPUT])
        if len(logits) != len(straight_crops):
            raise ModelError(f"{READER}: wanted {len(straight_crops)} rows, got {len(logits)}")
        return logits

    def _run(self, network: str, crops: Array) -> Tensors:
        """Run a network on crops [N, 3, 24, 94], in the batches that it takes."""
        answers = [
            self.infer(network, {INPUT: crops[at : at + MAX_BATCH]})
            for at in range(0, len(crops), MAX_BATCH)
        ]
        if len(answers) == 1:
            return answers[0]
        concatenate = namespace(crops).concatenate
        return {name: concatenate([answer[name] for answer in answers]) for name in answers[0]}

    def decode(self, logits: Array, lines: Sequence[int] | None = None) -> tuple[Reading, ...]:
        """Return the reading of each of the logits [N, classes, 18].

        Args:
            logits: Arrays of NumPy.
            lines: Lines of each plate, 1 or 2; one each if not given.

        Raises:
            ModelError: The logits have another number of classes or are not finite.
        """
        self.lap(CROPS)
        counts = [1] * len(logits) if lines is None else lines
        readings: dict[int, Reading] = {}
        for count in {*counts}:
            indices = [index for index, each in enumerate(counts) if each == count]
            grammar = Grammar.of(self.formats, count)
            texts = decode(logits[indices], grammar, temperature=self.temperature, lines=count)
            readings |= zip(indices, texts, strict=True)
        self.lap(TEXTS)
        return tuple([readings[index] for index in range(len(logits))])


@dataclass(frozen=True)
class PlateReadings:
    """N plates of a picture, with their positions and readings, in arrays of NumPy.

    Attributes:
        xyxy: The detector's boxes, float32 [N, 4].
        frames: The plates' frames, float32 [N, 2, 3].
        logits: The logits of the readings, float32 [N, classes, 18]; empty when texts are not
            wanted.
        readings: The N readings; none when texts are not wanted.
    """

    xyxy: Array
    frames: Array
    logits: Array
    readings: tuple[Reading, ...] = ()

    def with_surer(self, indices: Sequence[int], new_readings: PlateReadings) -> PlateReadings:
        """Return these readings, with new ones in place of less sure ones.

        Args:
            indices: For each new reading, the index of its plate.
            new_readings: The new readings.
        """
        readings, logits, frames = [*self.readings], [*self.logits], [*self.frames]
        for plate, reading, plate_logits, frame in zip(
            indices, new_readings.readings, new_readings.logits, new_readings.frames, strict=True
        ):
            if reading.score > readings[plate].score:
                readings[plate], logits[plate], frames[plate] = reading, plate_logits, frame
        return PlateReadings(self.xyxy, np.stack(frames), np.stack(logits), tuple(readings))

    def with_second_boxes(
        self, indices: Sequence[int], second_readings: PlateReadings
    ) -> PlateReadings:
        """Return these readings, joined with those of second boxes; see `join_readings`.

        Args:
            indices: For each second reading, the index of its plate.
            second_readings: The readings of the second boxes.
        """
        readings = [*self.readings]
        for plate, second in zip(indices, second_readings.readings, strict=True):
            readings[plate] = join_readings(readings[plate], second)
        return replace(self.with_surer(indices, second_readings), readings=tuple(readings))


def may_gain(plates: PlateReadings, reader: Reader) -> bool:
    """Tell whether any plate may gain from an improvement: it is unsure, tilted or square."""
    is_unsure = any(reading.score < SURE_FROM for reading in plates.readings)
    if is_unsure or (tilts_of(plates.frames) > TILTED_DEG).any():
        return True
    return reader.reads and bool(reader.formats.layouts(2)) and bool(list_square(plates.frames))


def list_unsure(plates: PlateReadings) -> list[int]:
    """Return the indices of plates that can be read, but not with a high score."""
    return [
        plate
        for plate, reading in enumerate(plates.readings)
        if UNREADABLE_BELOW <= reading.score < SURE_FROM
    ]


def list_square(frames: Array) -> list[int]:
    """Return the indices of frames [N, 2, 3] so high that their plates may have two lines."""
    widths, heights = sizes_of(frames).T
    square: list[int] = np.flatnonzero(widths < WIDEST_SQUARE * heights).tolist()
    return square


def join_readings(first: Reading, second: Reading) -> Reading:
    """Join two readings of one plate, which was cut along two boxes.

    The surer one counts if both name the same text. It also counts on plates of two lines, where
    the other has often lost a part of a line. In all other cases one of them is wrong, and it is
    unknown which: each text gets the mean of its two probabilities.
    """
    surer, less_sure = sorted((first, second), key=lambda reading: -reading.score)
    in_one_line = surer.lines == less_sure.lines == 1
    texts = {reading.candidates[0][0] for reading in (surer, less_sure) if reading.candidates}
    if not in_one_line or len(texts) < 2:
        return surer
    means: dict[str, float] = {}
    for text, probability in surer.candidates + less_sure.candidates:
        means[text] = means.get(text, 0.0) + probability / 2
    best = sorted(means.items(), key=lambda candidate: -candidate[1])[:CANDIDATES]
    return replace(surer, candidates=tuple(best))
