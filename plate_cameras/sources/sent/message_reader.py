"""Reads a camera's message by its form: the picture, and the camera's own reading and time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from orchestrator.errors import PictureError
from plate_cameras.message_forms import MessageForm
from plate_cameras.plate_texts import strip_text
from plate_cameras.sources.sent.message_parts import (
    MAX_VALUES,
    TEXT,
    SentMessage,
    parse_message,
    unpack_base64,
)
from plate_cameras.sources.sent.message_times import read_time

MAX_PICTURE_BYTES = 20_000_000
"""Largest size of a picture. A JPEG file of 50 million pixels has 20 MB."""
MAX_TEXT_CHARACTERS = 15
MAX_VALUE_CHARACTERS = 100
"""Characters that count of a plate, a score and a time in a camera's message."""
USUAL_SCORE, MAX_SCORE = 0.8, 0.9
"""Score of a camera's reading without one, and the largest: cameras' scores are no probabilities,
and ours decides where it is surer."""
REPLACEMENT = "\ufffd"
"""The character in place of bytes that are no UTF-8."""
MIN_BASE64 = 200
"""Smallest number of characters of a picture in base64."""


@dataclass(frozen=True)
class CameraMessage:
    """A picture that a camera has sent, with its own reading and time.

    Attributes:
        picture: The picture, a file in one of the usual formats.
        digest: Digest of picture, reading and time; a message that is sent again has the same.
        text: The camera's own reading in Latin look-alikes; empty for none.
        score: Its score, in [0, 1]; 0 without a reading.
        time_s: Unix time by the camera; None if it sends none.
    """

    picture: bytes = field(repr=False)
    digest: bytes
    text: str = ""
    score: float = 0.0
    time_s: float | None = None


def read_message(body: bytes, content_type: str, form: MessageForm) -> CameraMessage | None:
    """Return the content of a message; None if it tells of no vehicle, as a heartbeat does.

    Raises:
        MessageError: It is damaged, or exceeds a limit.
        PictureError: It has no picture.
    """
    message = parse_message(body, content_type)
    path, _, value = form.only.partition("=")
    if form.only and _find(message.values, path) != value:
        return None
    plate, time_text, score_text = (
        _find(message.values, path)[:MAX_VALUE_CHARACTERS]
        for path in (form.plate, form.time, form.score)
    )
    picture, text = _picture_of(message, form.picture), _clean(plate)
    score = _score_of(score_text) if text else 0.0
    reading = f"{text}|{time_text}|".encode(errors="replace")  # JSON may hold half a character
    digest = hashlib.sha256(reading + picture).digest()
    return CameraMessage(picture, digest, text, score, read_time(time_text))


def _find(values: Any, paths: str) -> str:
    """Return the first text or number to which one of some paths leads; empty for none."""
    for path in filter(None, paths.split("|")):
        value = values
        for name in path.split("."):
            if isinstance(value, list):
                value = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
            else:
                value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, dict):
            value = value.get(TEXT)
        if isinstance(value, bool):
            return str(value).lower()  # as in JSON
        if isinstance(value, (str, int, float)) and str(value).strip():
            return str(value).strip()
    return ""


def _picture_of(message: SentMessage, path: str) -> bytes:
    """Return the picture that a path names, else the largest: cameras send crops beside it."""
    named_picture = message.pictures.get(path) or _decode(_find(message.values, path))
    inner_pictures = map(_decode, _texts(message.values))
    pictures = [named_picture] if named_picture else [*message.pictures.values(), *inner_pictures]
    if not any(pictures):
        where = f" at {path}" if path else ""
        raise PictureError(
            f"message: wanted a picture (JPEG, PNG, BMP or WebP){where}, got none; let the camera "
            "send the whole picture with its event"
        )
    picture = max(pictures, key=len)
    if len(picture) > MAX_PICTURE_BYTES:
        limit = f"at most {MAX_PICTURE_BYTES} bytes"
        raise PictureError(f"picture: wanted {limit}, got {len(picture)}")
    return picture


def _texts(values: Any) -> Iterator[str]:
    """Return the texts of a document that may be pictures, at any depth."""
    stack, count = [values], 0
    while stack and count < MAX_VALUES:
        value, count = stack.pop(), count + 1
        if isinstance(value, (dict, list)):
            inner = value.values() if isinstance(value, dict) else value
            stack += islice(inner, MAX_VALUES)
        elif isinstance(value, str) and len(value) > MIN_BASE64:
            yield value


def _decode(text: str) -> bytes:
    """Return the picture that a text holds in base64; empty if it holds none."""
    return unpack_base64(text.encode(errors="replace")) if len(text) >= MIN_BASE64 else b""


def _clean(plate: str) -> str:
    """Return a camera's reading as the service writes texts; empty if it is none.

    Every plate has a digit. The words that cameras write in place of a plate have none. Of a text
    in another encoding than UTF-8, only a part is left.
    """
    text = strip_text("".join(letter for letter in plate if letter.isalnum()))
    is_plate = any(map(str.isdecimal, text)) and len(text) <= MAX_TEXT_CHARACTERS
    return text if is_plate and REPLACEMENT not in plate else ""


def _score_of(text: str) -> float:
    try:
        score = float(text.rstrip("% ").replace(",", "."))
    except ValueError:
        return USUAL_SCORE
    score = score / 100 if score > 1 or text.endswith("%") else score
    return min(score, MAX_SCORE) if 0 < score <= 1 else USUAL_SCORE
