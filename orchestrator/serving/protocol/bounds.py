"""Bounds of a request for any model: its names, counts and texts."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection

from orchestrator.errors import ParameterError, RequestError
from orchestrator.serving.protocol.inference import InferenceRequest, Plain

MOST_INPUTS, MOST_OUTPUTS, MOST_PARAMETERS = 8, 32, 32
MOST_DIMENSIONS = 8
LONGEST_NAME, LONGEST_ID, LONGEST_TEXT = 64, 256, 1024
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1


def check_bounds(call: InferenceRequest) -> InferenceRequest:
    """Return a call if its names, counts and texts keep to the bounds for every model.

    Raises:
        RequestError: A name, count or text is out of bounds.
    """
    _check_names("inputs", [tensor.name for tensor in call.inputs], MOST_INPUTS)
    _check_names("outputs", call.outputs, MOST_OUTPUTS)
    _check_names("parameters", call.parameters, MOST_PARAMETERS)
    for name, value in call.parameters.items():
        _check_plain(name, value)
    if len(call.id) > LONGEST_ID or not call.id.isprintable():
        raise RequestError(
            f"id: wanted up to {LONGEST_ID} printable characters, got {reprlib.repr(call.id)}"
        )
    return call


def _check_names(what: str, names: Collection[str], most: int) -> None:
    if len(names) > most:
        raise RequestError(f"{what}: wanted up to {most}, got {len(names)}")
    for name in names:
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
            raise RequestError(
                f"{what}: wanted names of 1 to {LONGEST_NAME} printable characters, "
                f"got {reprlib.repr(name)}"
            )
    if len(set(names)) < len(names):
        raise RequestError(f"{what}: wanted each name once, got {reprlib.repr(list(names))}")


def _check_plain(name: str, value: Plain) -> None:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ParameterError(
            f"{name}: wanted up to {LONGEST_TEXT} characters, got {len(value)} characters"
        )
    if isinstance(value, int) and not LEAST_INT <= value <= MOST_INT:
        raise ParameterError(f"{name}: wanted a number of 64 bits, got {value}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError(f"{name}: wanted a finite number, got {value}")
