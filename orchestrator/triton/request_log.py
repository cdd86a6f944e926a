"""The server's log of requests: a line for each that failed, none for one that was answered."""

from __future__ import annotations

import json
import os
import traceback
from datetime import datetime, timezone

from orchestrator.contract import unmark
from orchestrator.errors import Overloaded, PlateError

LONGEST = 2000
"""Characters of a message or traceback that are kept: a line stays a line."""


def explain(error: Exception) -> PlateError:
    """Return our own errors as they are; any other is a fault of ours and becomes one of them.

    That there is no memory is none: another worker may have some.
    """
    if isinstance(error, PlateError):
        return error
    if isinstance(error, MemoryError):
        return Overloaded("wanted memory, got none")
    fault = PlateError(f"{type(error).__name__}: {error}")
    fault.__cause__ = error
    return fault


def log_failure(request_id: str, error: PlateError) -> None:
    """Write one line of JSON to the server's standard error, past Triton's own format and filter.

    Args:
        request_id: The client's; empty where it sent none.
        error: Why the request failed; the traceback is told of a fault of ours alone.
    """
    line = {
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "event": "request failed",
        "request_id": unmark(request_id),
        "reason": error.reason,
        "message": str(error)[:LONGEST],
    }
    if error.__cause__ and type(error) is PlateError:
        line["traceback"] = "".join(traceback.format_exception(error.__cause__))[-LONGEST:]
    os.write(2, f"{json.dumps(line)}\n".encode())
