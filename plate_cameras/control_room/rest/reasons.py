"""The reason of a request, for the audit of the store."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers

from orchestrator.errors import ParameterError

HEADER = "x-reason"
MAX_CHARACTERS = 500


def read_reason(headers: Headers, parameter: str = "") -> str:
    """Return the reason of a request; empty if it has none.

    The header goes before the parameter `reason`. It may be UTF-8, or percent-encoded UTF-8:
    browsers send only Latin-1 in headers.

    Raises:
        ParameterError: The reason is too long or not printable.
    """
    if HEADER in headers:
        given = unquote_to_bytes(headers[HEADER].encode("latin-1")).decode(errors="replace")
    else:
        given = parameter
    reason = given.strip()
    if len(reason) > MAX_CHARACTERS or not reason.isprintable():
        wanted = f"at most {MAX_CHARACTERS} printable characters"
        raise ParameterError(f"reason: wanted {wanted}, got {reason[:100]!r}")
    return reason
