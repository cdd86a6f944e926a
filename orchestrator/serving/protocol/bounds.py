"""Bounds of a request for any model: its names, counts and texts."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection

from orchestrator.errors import ParameterError, RequestError
from orchestrator.serving.protocol.inference import InferenceRequest, Plain

MAX_INPUTS, MAX_OUTPUTS, MAX_PARAMETERS = 8, 32, 32
MAX_DIMENSIONS = 8
MAX_NAME_CHARACTERS, MAX_ID_CHARACTERS, MAX_TEXT_CHARACTERS = 64, 256, 1024
MIN_INT, MAX_INT = -(2**63), 2**63 - 1


def check_bounds(call: InferenceRequest) -> InferenceRequest:
    """Return a call if its names, counts and texts keep to the bounds for every model.

    Raises:
        RequestError: A name, count or text is out of bounds.
    """
    _check_names("inputs", [tensor.name for tensor in call.inputs], MAX_INPUTS)
    _check_names("outputs", call.outputs, MAX_OUTPUTS)
    _check_names("parameters", call.parameters, MAX_PARAMETERS)
    for name, value in call.parameters.items():
        _check_plain(name, value)
    if len(call.id) > MAX_ID_CHARACTERS or not call.id.isprintable():
        raise RequestError(
            f"id: wanted up to {MAX_ID_CHARACTERS} printable characters, "
            f"got {reprlib.repr(call.id)}"
        )
    return call


def _check_names(label: str, names: Collection[str], max_count: int) -> None:
    if len(names) > max_count:
        raise RequestError(f"{label}: wanted up to {max_count}, got {len(names)}")
    for name in names:
        if not (0 < len(name) <= MAX_NAME_CHARACTERS and name.isprintable()):
            raise RequestError(
                f"{label}: wanted names of 1 to {MAX_NAME_CHARACTERS} printable characters, "
                f"got {reprlib.repr(name)}"
            )
    if len(set(names)) < len(names):
        raise RequestError(f"{label}: wanted each name once, got {reprlib.repr(list(names))}")


def _check_plain(name: str, value: Plain) -> None:
    if isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
        raise ParameterError(
            f"{name}: wanted up to {MAX_TEXT_CHARACTERS} characters, got {len(value)} characters"
        )
    if isinstance(value, int) and not MIN_INT <= value <= MAX_INT:
        raise ParameterError(f"{name}: wanted a number of 64 bits, got {value}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError(f"{name}: wanted a finite number, got {value}")
