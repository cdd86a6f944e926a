"""The server's log of requests: a line for each failed request, none for the others."""

from __future__ import annotations

import json
import os
import traceback
from datetime import datetime, timezone

from orchestrator.contract import unmark
from orchestrator.errors import Cancelled, Overloaded, PlateError, RequestError
from orchestrator.triton.memory_faults import is_out_of_memory

MAX_CHARACTERS = 2000
"""Largest number of characters of a message or traceback, so that it stays one line of the log."""


def explain(error: Exception) -> PlateError:
    """Return our own errors unchanged; turn any other into a PlateError, as a fault in our code.

    Lack of memory is not such a fault: another worker may have some.
    """
    if isinstance(error, PlateError):
        return error
    if is_out_of_memory(error):
        return Overloaded("wanted memory, got none")
    fault = PlateError(f"{type(error).__name__}: {error}")
    fault.__cause__ = error
    return fault


def log_failure(request_id: str, error: PlateError) -> None:
    """Write one line of JSON to the server's standard error, without Triton's format and filter.

    Args:
        request_id: The client's request id; empty if it sent none.
        error: The reason. Its traceback is included if the request itself was not at fault: it
            shows the file and the line in the model.
    """
    line = {
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "event": "request failed",
        "request_id": unmark(request_id),
        "reason": error.reason,
        "message": str(error)[:MAX_CHARACTERS],
    }
    cause = error if error.__traceback__ else error.__cause__
    if cause and not isinstance(error, (RequestError, Overloaded, Cancelled)):
        line["traceback"] = _drop_middle("".join(traceback.format_exception(cause)))
    os.write(2, f"{json.dumps(line)}\n".encode())


def _drop_middle(text: str) -> str:
    """Cut a long traceback: it begins in the model's own code, and ends with the error."""
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[: half - 3]}\n...\n{text[2 - half :]}"
