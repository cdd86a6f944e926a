"""The tensors of the Triton models: their names, types and shapes; plates to arrays and back.

`config.pbtxt` repeats them for Triton; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ModelError, ParameterError, PictureError, RequestError
from orchestrator.formats.layouts import MAX_LENGTH
from orchestrator.formats.regions import known_region
from orchestrator.plates import CANDIDATES, Plate, PlateCountry, Plates
from orchestrator.settings import REQUEST_PARAMETERS

MODEL = "plate_recognition"
DETECTOR, RECTIFIER, READER = "yolo", "stn", "lprnet"
PLATE_READER = "plate_reader"
PREPARE, DECODE = "plate_reader_prepare", "plate_reader_decode"  # the steps of `plate_reader`
MAX_BATCH = 32  # of STN and LPRNet

FORMATS_FILE = "formats.toml"
"""File of the plate formats, in the version folders of the models that use them."""

SHM = Path("/dev/shm")
"""Folder in which Triton's Python workers exchange tensors."""

PROBE = "probe"
"""Request id of a health check. It is answered like any call, but not counted as a picture."""

MARK = re.compile(r"#[0-9a-f]+-[0-9a-f]+$")
"""The suffix that the gateway adds to a request id, to make each id unique."""

PICTURE, ENCODED = "input__0", "encoded_image"
ENCODED_CROP = "encoded_crop"
"""Input of `plate_recognition` instead of a picture: the file of a tight crop of a plate. It is
read as `plate_reader` reads the crop's pixels."""
CROP, LOGITS = "crop", "logits"  # inputs of `plate_reader`, and of its last step
INPUT, OUTPUT, THETA = "input__0", "output__0", "output__1"  # of the component models

PICTURE_FAULT = re.compile(
    rf"\b(?:{ENCODED}|{ENCODED_CROP}|{PICTURE}|{CROP}|picture size): (?:wanted|damaged)\b"
)
PARAMETER_FAULT = re.compile(rf"\b(?:parameters|{'|'.join(REQUEST_PARAMETERS)}): wanted\b")
"""Patterns of the messages about a picture or a parameter that cannot be used. Triton sends only
the message of an error, not its class."""

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Output:
    """One output of `plate_recognition`: a row per plate.

    Attributes:
        dtype: float32, or object for text as UTF-8 bytes.
        row_shape: Shape of one plate's row.
        row: The row of a plate.
    """

    dtype: type[np.generic]
    row_shape: tuple[int, ...]
    row: Callable[[Plate], Any]


def rejection_kind(message: str) -> type[RequestError]:
    """Return the class of an error that the model has raised for a request, from its message."""
    if PICTURE_FAULT.search(message):
        return PictureError
    return ParameterError if PARAMETER_FAULT.search(message) else RequestError


def mark_of(request_id: str) -> str:
    """Return the suffix that the gateway added to a request id; empty when it added none."""
    match = MARK.search(request_id)
    return match[0] if match else ""


def unmark(request_id: str) -> str:
    """Return a request id as the client sent it."""
    return MARK.sub("", request_id)


OUTPUTS = {
    "coordinates": Output(np.float32, (4,), lambda p: p.xyxy),
    "texts": Output(np.object_, (1,), lambda p: [p.text.encode()]),
    "detection_scores": Output(np.float32, (1,), lambda p: [p.detection_score]),
    "text_scores": Output(np.float32, (1,), lambda p: [p.text_score]),
    "raw_texts": Output(np.object_, (1,), lambda p: [p.raw_text.encode()]),
    "character_scores": Output(
        np.float32,
        (MAX_LENGTH,),
        lambda p: [*p.character_scores, *[0.0] * MAX_LENGTH][:MAX_LENGTH],
    ),
    "candidates": Output(
        np.object_,
        (CANDIDATES,),
        lambda p: [*[text.encode() for text, _ in p.candidates], *[b""] * CANDIDATES][:CANDIDATES],
    ),
    "candidate_scores": Output(
        np.float32,
        (CANDIDATES,),
        lambda p: [*[score for _, score in p.candidates], *[0.0] * CANDIDATES][:CANDIDATES],
    ),
    "corners": Output(np.float32, (4, 2), lambda p: p.corners),
    "formats": Output(np.object_, (1,), lambda p: [p.format.encode()]),
}
ALL_OUTPUTS = frozenset(OUTPUTS)
"""Names of all outputs that every model has."""
COUNTRY_OUTPUTS = {
    "countries": Output(
        np.object_, (1,), lambda p: [p.country.code.encode() if p.country else b""]
    ),
    "country_scores": Output(np.float32, (1,), lambda p: [p.country.score if p.country else 0.0]),
}
"""Outputs that only models have which read several countries."""
EVERY_OUTPUT = {**OUTPUTS, **COUNTRY_OUTPUTS}
UNPACKING, LETTERBOX, CROPS, TEXTS = "picture", "letterbox", "crops", "texts"
STAGES = (UNPACKING, LETTERBOX, DETECTOR, CROPS, RECTIFIER, READER, TEXTS)
"""Stages: unpacking, letterboxing, a network, NMS and cropping, two networks, then decoding and
answering."""
STAGE_SECONDS = "stage_seconds"
"""The only output about the call itself: float32, the time of each stage."""
TOGETHER = {
    "character_scores": "raw_texts",
    "candidates": "candidate_scores",
    "candidate_scores": "candidates",
    "countries": "country_scores",
    "country_scores": "countries",
}
"""Outputs that mean nothing without another output."""
FROM_DETECTION = frozenset({"coordinates", "detection_scores"})
FROM_RECTIFICATION = frozenset({"corners"})
OF_A_READING = tuple(name for name in OUTPUTS if name not in FROM_DETECTION | FROM_RECTIFICATION)
"""Outputs of `plate_reader`: all that can be read from a plate, but not its place."""


def to_arrays(plates: Plates, names: Iterable[str] = tuple(OUTPUTS)) -> dict[str, Array]:
    """Return the named outputs, one row per plate; without plates they keep their rank."""
    arrays: dict[str, Array] = {}
    for name in names:
        output, rows = EVERY_OUTPUT[name], plates.plates
        arrays[name] = np.empty((len(rows), *output.row_shape), output.dtype)
        if rows:
            arrays[name][:] = [output.row(plate) for plate in rows]
    return arrays


def complete(names: Iterable[str]) -> tuple[str, ...]:
    """Return the outputs to request for these: also the boxes, and the outputs that they need.

    Raises:
        ParameterError: An output of this name does not exist.
    """
    outputs = {"coordinates", *names}
    unknown = sorted(outputs - EVERY_OUTPUT.keys())
    if unknown:
        raise ParameterError(f"outputs: wanted some of {', '.join(EVERY_OUTPUT)}, got {unknown[0]}")
    outputs |= {TOGETHER[name] for name in outputs if name in TOGETHER}
    return tuple(name for name in EVERY_OUTPUT if name in outputs)


def wants_all(names: Sequence[str]) -> bool:
    """Tell whether names are those of all outputs that every model has, in their order.

    The outputs about countries are then wanted, too, if the model has them.
    """
    return tuple(names) == tuple(OUTPUTS)


def stages_of(arrays: Arrays) -> dict[str, float]:
    """Return the seconds of each stage of a call; 0 for a stage that was not needed.

    Raises:
        ModelError: The output is missing, or has another type or shape.
    """
    seconds = arrays.get(STAGE_SECONDS)
    expectation = (np.dtype(np.float32), (len(STAGES),))
    if seconds is None or (seconds.dtype, seconds.shape) != expectation:
        actual = "none" if seconds is None else f"{seconds.dtype} {list(seconds.shape)}"
        raise ModelError(f"answer: wanted {STAGE_SECONDS} as float32 [{len(STAGES)}], got {actual}")
    return dict(zip(STAGES, seconds.tolist(), strict=True))


def from_arrays(arrays: Arrays, names: Sequence[str] = tuple(OUTPUTS)) -> Plates:
    """Return the plates of an answer; this is the inverse of `to_arrays`. See `rows_of`."""
    return Plates(tuple(Plate(**row) for row in rows_of(arrays, names)))


def rows_of(
    arrays: Arrays,
    names: Sequence[str] = tuple(OUTPUTS),
    decimals: Mapping[str, int] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the plates of an answer, each as the fields of a `Plate`.

    Args:
        arrays: Arrays by the names of the outputs.
        names: The requested outputs, made `complete`; a `Plate` has empty values for all others.
        decimals: Decimals to which the numbers of an output are rounded; all of them if it has no
            entry.

    Raises:
        ModelError: An output is missing, or has another type or shape. A client cannot know what is
            between it and the model, so it raises a ServerError instead.
    """
    if wants_all(names):
        names = (*names, *(name for name in COUNTRY_OUTPUTS if name in arrays))
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ModelError(f"answer: wanted the outputs asked for, got none named {missing[0]}")
    plates = len(np.atleast_1d(arrays["coordinates"]))
    columns = [_to_column(name, arrays[name], plates, decimals.get(name)) for name in names]
    return [_from_row(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def _to_column(name: str, array: Array, plates: int, decimals: int | None) -> list[Any]:
    """Return the rows of an output. Triton's clients give texts as bytes, or as str from JSON."""
    output = EVERY_OUTPUT[name]
    expectation = (np.dtype(output.dtype), (plates, *output.row_shape))
    if (array.dtype, array.shape) != expectation:
        raise ModelError(
            f"answer: wanted {name} as {expectation[0]} {list(expectation[1])}, "
            f"got {array.dtype} {list(array.shape)}"
        )
    if decimals is not None:
        array = array.astype(np.float64).round(decimals)
    rows: list[Any] = array.tolist()
    if output.dtype is not np.object_:
        return rows
    try:
        rows = [
            [str(text, "utf-8") if isinstance(text, bytes) else text for text in row]
            for row in rows
        ]
    except UnicodeDecodeError as error:
        raise ModelError("answer: wanted texts in UTF-8, got other bytes") from error
    for text in (text for row in rows for text in row):
        if not isinstance(text, str):
            raise ModelError(f"answer: wanted texts, got {type(text).__name__}")
    return rows


def _from_row(row: Mapping[str, list[Any]]) -> dict[str, Any]:
    raw_text, text, name, country = (
        row.get(output, [""])[0] for output in ("raw_texts", "texts", "formats", "countries")
    )
    candidates = zip(row.get("candidates", ()), row.get("candidate_scores", ()), strict=True)
    return {
        "xyxy": tuple(row["coordinates"]),
        "detection_score": row.get("detection_scores", [0.0])[0],
        "text": text,
        "text_score": row.get("text_scores", [0.0])[0],
        "raw_text": raw_text,
        "character_scores": tuple(row.get("character_scores", ())[: len(raw_text)]),
        "candidates": tuple((text, score) for text, score in candidates if text),
        "corners": tuple(map(tuple, row.get("corners", ()))),
        "format": name,
        "region": known_region(text, name),
        "country": PlateCountry(country, row["country_scores"][0]) if country else None,
    }
