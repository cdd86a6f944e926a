"""The caller's labels of a call: a camera and a time. The answer repeats them unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date

from orchestrator.errors import ParameterError

MAX_CAMERA_ID_CHARACTERS = 100
"""Characters."""
TIMESTAMP = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?"
    r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?$"
)
"""The extended form of ISO 8601: date and time, with or without seconds and offset."""
DATE_LENGTH = 10
MAX_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Labels:
    """Labels of a call.

    Attributes:
        camera_id: Name of the camera; empty for none.
        timestamp: When the picture was taken, in the form of ISO 8601; empty for unknown.
    """

    camera_id: str = ""
    timestamp: str = ""


NO_LABELS = Labels()
LABELS = tuple(field.name for field in fields(Labels))


def labels_of(query: Mapping[str, str], form: Mapping[str, str]) -> Labels:
    """Return the labels of a call, from its query and from its form, which goes first.

    Args:
        query: The parameters of the query; those that are no labels are ignored.
        form: The labels among the form's fields.

    Raises:
        ParameterError: A label has another form than wanted.
    """
    of_query = {name: query[name] for name in LABELS if name in query}
    for labels in (of_query, form):
        _check_camera(labels.get("camera_id", ""))
        if "timestamp" in labels:
            _check_time(labels["timestamp"])
    return Labels(**{**of_query, **form})


def _check_camera(name: str) -> None:
    if len(name) > MAX_CAMERA_ID_CHARACTERS:
        raise ParameterError(
            f"camera_id: wanted up to {MAX_CAMERA_ID_CHARACTERS} characters, got {len(name)}"
        )


def _check_time(text: str) -> None:
    if re.fullmatch(TIMESTAMP, text) and _is_day(text[:DATE_LENGTH]):
        return
    hint = "; in a query + is written %2B" if " " in text else ""
    raise ParameterError(
        "timestamp: wanted an ISO 8601 time such as 2026-05-17T09:30:00+03:00, "
        f"got {text[:MAX_SHOWN_CHARACTERS]!r}{hint}"
    )


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
