"""Tells requests of this service's own pages and machine from others."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request

from orchestrator.host.loopback import is_own
from orchestrator.serving.gateway.extension import ELSEWHERE, ForeignOrigin

SENT_HEADERS = re.compile(
    "accept.*|access-control-request-.*|alt-used|authorization|cache-control|connection|content-.*|cookie"
    "|dnt|expect|host|if-.*|keep-alive|last-event-id|origin|pragma|priority|range|referer"
    "|save-data|sec-.*|te|traceparent|tracestate|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent"
    "|x-api-key|x-csrf-token|x-reason|x-request-id|x-requested-with"
)
"""Headers that browsers and clients send. Any other may be that of a proxy, whose names for the
client's address have no end: X-Forwarded-For, X-Real-IP, CF-Connecting-IP, Fly-Client-IP."""


def check_own_page(headers: Headers) -> None:
    """Check that no page of another site sends a request that needs no key.

    A link on such a page counts, too: what it finds and exports would be recorded in the name of
    the reader. Links to the pages of the control room are allowed; they hold no data.

    The gateway refuses such pages first, except those of `--cors-origin`. Those may send pictures,
    but they get nothing of the control room without a key.

    Raises:
        ForeignOrigin: The page belongs to another site.
    """
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise ForeignOrigin(
            f"origin: wanted a page of this service, got {origin[:100]!r}; pages of other sites "
            "need a key with a role"
        )
    if headers.get("sec-fetch-site") in ELSEWHERE:
        raise ForeignOrigin("wanted a request of this service's page, got one of another site")


def is_own_page(headers: Headers) -> bool:
    """Tell whether `check_own_page` accepts a request."""
    try:
        check_own_page(headers)
    except ForeignOrigin:
        return False
    return True


def is_direct(request: Request) -> bool:
    """Tell whether a request to a gateway on loopback was sent on this machine.

    A proxy on this machine may forward requests of strangers. It shows itself by a header that no
    browser sends, by the name of a site in Host, or by HTTP/1.0, which nginx speaks unless it is
    told otherwise. One that shows nothing cannot be noticed.
    """
    headers = request.headers
    name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    is_known = all(map(SENT_HEADERS.fullmatch, headers))
    return is_own(name) and is_known and request.scope["http_version"] != "1.0"
