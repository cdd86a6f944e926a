"""Who asks and why, for the audit of the store."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, QueryParams

from orchestrator.cameras.store.pass_query import Requester
from orchestrator.control_room.endpoint import RoomRequest
from orchestrator.errors import ParameterError

HEADER, PARAMETER = "x-reason", "reason"
NONE = "-"
"""Reason in the audit if the caller gave none."""
MOST_CHARACTERS = 500


def requester_of(request: RoomRequest) -> Requester:
    """Return who asks and why, for the audit.

    Raises:
        ParameterError: The reason is required and missing, too long, or not printable.
    """
    http, settings = request.request.http, request.room.configuration.control_room
    reason = read_reason(http.headers, http.query_params)
    if not reason and settings.reasons_required:
        raise ParameterError("reason: wanted one in X-Reason or ?reason=, got none")
    return Requester(request.principal.name, reason or NONE)


def read_reason(headers: Headers, query: QueryParams) -> str:
    """Return the reason of a request; empty if it has none.

    The header may be UTF-8, or percent-encoded UTF-8: browsers send only Latin-1 in headers.

    Raises:
        ParameterError: The reason is too long or not printable.
    """
    if HEADER in headers:
        given = unquote_to_bytes(headers[HEADER].encode("latin-1")).decode(errors="replace")
    else:
        given = query.get(PARAMETER, "")
    reason = given.strip()
    if len(reason) > MOST_CHARACTERS or not reason.isprintable():
        wanted = f"at most {MOST_CHARACTERS} printable characters"
        raise ParameterError(f"reason: wanted {wanted}, got {reason[:100]!r}")
    return reason
