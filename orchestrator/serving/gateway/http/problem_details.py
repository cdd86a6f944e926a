"""Errors over HTTP: problem objects of RFC 9457, and their headers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from http import HTTPStatus

from orchestrator.serving.gateway.errors import Outcome

MEDIA_TYPE = "application/problem+json"
DOCS = "/docs"
DESCRIBED = {
    "link": f'</openapi.json>; rel="service-desc"; type="application/json", '
    f'<{DOCS}>; rel="service-doc"; type="text/html"'
}
"""Header that leads to the description of the API (RFC 8631)."""


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem.

    Attributes:
        title: Name of the kind, for people.
        statuses: HTTP statuses of the kind.
        meaning: The event, and advice for the reader.
    """

    title: str
    statuses: tuple[int, ...]
    meaning: str


KINDS = {
    "picture": ProblemKind(
        "The picture cannot be used",
        (400,),
        "The file is empty, damaged, an animation, larger than the service takes or no JPEG, PNG, "
        "WebP or BMP. The detail names the format that it has, if it is a known one, and says how "
        "to convert it.",
    ),
    "parameter": ProblemKind(
        "A parameter is wrong",
        (400,),
        "A parameter is unknown, comes twice or is out of its range. The detail names it with what "
        "was wanted.",
    ),
    "form": ProblemKind(
        "The form cannot be read",
        (400,),
        "The body is no multipart/form-data with pictures in fields of one name, picture, upload, "
        "image or file, or it holds too many of them, or other fields.",
    ),
    "message": ProblemKind(
        "The message cannot be read",
        (400,),
        "The body is no form, XML or JSON as a camera sends it, or it holds too much. The detail "
        "says what was wanted.",
    ),
    "key": ProblemKind(
        "No valid key",
        (401,),
        "This service answers to those who have a key. Send yours as a bearer token or as the "
        "header X-API-Key.",
    ),
    "no keys": ProblemKind(
        "The service does not know its keys",
        (503,),
        "The file of the API keys was deleted or damaged, so nobody is answered. Tell the "
        "operator.",
    ),
    "host": ProblemKind(
        "Another host was asked for",
        (400, 421),
        "The Host header is missing, comes twice, or names a host that is not this service's. The "
        "operator allows further names with --allowed-host.",
    ),
    "origin": ProblemKind(
        "A page of another site called",
        (403,),
        "The browser says that the request comes from another site's page. The operator allows "
        "such sites with --cors-origin.",
    ),
    "login": ProblemKind(
        "The name or the password is wrong",
        (401, 403),
        "The person may also be disabled. After ten wrong passwords, attempts must wait.",
    ),
    "role": ProblemKind(
        "The role does not allow it",
        (403,),
        "The key has no role, or the role or its groups of cameras do not allow the call. The "
        "operator gives roles to keys and people.",
    ),
    "csrf": ProblemKind(
        "The session's token is missing",
        (403,),
        "A change by somebody who has logged in needs the header X-CSRF-Token, with the value csrf "
        "of GET /v1/session.",
    ),
    "conflict": ProblemKind(
        "The change does not fit the present state",
        (409,),
        "The name is taken, the last administrator would be lost, or the camera does not send by "
        "itself. The detail says which.",
    ),
    "database": ProblemKind(
        "The database of the passes is away",
        (503,),
        "Recognition goes on. Wait for as long as Retry-After says.",
    ),
    "not served": ProblemKind(
        "Nothing is served here",
        (404, 405),
        "There is no such path, or no such method of it. This page lists those there are.",
    ),
    "slow": ProblemKind(
        "The body came too slowly", (408,), "The whole body did not arrive in time. Send it again."
    ),
    "size": ProblemKind(
        "The body is too large",
        (413,),
        "Send fewer pictures in one call, or smaller ones: a picture of 2 megapixels as JPEG is "
        "usually enough.",
    ),
    "encoding": ProblemKind(
        "The body's encoding is not understood",
        (411, 415),
        "Announce the size by Content-Length, do not compress the body, and name a picture's type "
        "or multipart/form-data as its Content-Type.",
    ),
    "harmful": ProblemKind(
        "The call ends the processes that answer it",
        (400,),
        "Two of them hung or crashed with it, one after the other, so it is not tried again. "
        "Nobody else's call was lost. Send another picture, and let the operator have this one.",
    ),
    "rate": ProblemKind(
        "Too many calls",
        (429,),
        "This client has used up what it may have; others are served. Wait for as long as "
        "Retry-After says.",
    ),
    "model": ProblemKind(
        "A network failed", (500,), "The fault is the service's and stands in its log."
    ),
    "internal": ProblemKind(
        "The service failed", (500,), "The fault is the service's and stands in its log."
    ),
    "full": ProblemKind(
        "The service is full",
        (503,),
        "There is no capacity for anybody's call now. Wait for as long as Retry-After says.",
    ),
    "evicted": ProblemKind(
        "Another call has the place",
        (503,),
        "There was no capacity for both: a call of better priority took the place, or the body "
        "came too slowly while places or memory were short. Wait for as long as Retry-After says.",
    ),
    "away": ProblemKind(
        "The service is away",
        (503,),
        "It is being started again, which takes seconds. Wait for as long as Retry-After says.",
    ),
    "not ready": ProblemKind(
        "The service is not ready",
        (503,),
        "No picture was read lately: the service starts, or something in it does not work.",
    ),
    "overloaded": ProblemKind(
        "The service is overloaded",
        (503,),
        "The model has more calls than it can take. Wait for as long as Retry-After says.",
    ),
    "late": ProblemKind(
        "The answer did not come in time",
        (504,),
        "The call was given up. The same call may succeed when there is less to do.",
    ),
}
"""Kinds of problems by the reason of an outcome."""


def anchor_of(reason: str) -> str:
    """Return the fragment of the documentation's URL that explains a reason."""
    return f"problem-{reason.replace(' ', '-')}"


def problem(outcome: Outcome, instance: str = "") -> dict[str, str | int]:
    """Return a failed call's outcome as a problem object.

    Args:
        outcome: Outcome of the call.
        instance: URI of this occurrence, for example the call's id; left out when empty.

    Source: RFC 9457, section 3.1.
    """
    kind = KINDS.get(outcome.reason)
    is_known = kind is not None and outcome.status in kind.statuses
    members: dict[str, str | int] = {
        "type": f"{DOCS}#{anchor_of(outcome.reason)}" if is_known else "about:blank",
        "title": kind.title if kind is not None and is_known else _phrase_of(outcome.status),
        "status": outcome.status,
        "detail": outcome.message,
        "reason": outcome.reason,
    }
    return members | {"instance": instance} if instance else members


def headers_of(outcome: Outcome) -> dict[str, str]:
    """Return the headers for a failed call's outcome, without the content type."""
    headers = {}
    if outcome.retry_after_s is not None:
        headers["Retry-After"] = str(math.ceil(outcome.retry_after_s))
    if outcome.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if outcome.reason == "not served":
        headers |= DESCRIBED
    return headers


def _phrase_of(status: int) -> str:
    """Return HTTP's own title of a status. Some statuses, like 499, have none."""
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "The call failed"
