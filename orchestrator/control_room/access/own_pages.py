"""Tells requests of this service's own pages and machine from others."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers

from orchestrator.gateway.errors import ForeignOrigin
from orchestrator.gateway.http.origins import ELSEWHERE
from orchestrator.system.loopback import is_own

FORWARDED = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
FORWARDED_START = "x-forwarded-"
"""Headers by which a proxy shows itself."""


def check_own_page(headers: Headers) -> None:
    """Check that no page of another site sends a request that needs no key.

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
    is_foreign = headers.get("sec-fetch-site") in ELSEWHERE
    if is_foreign and headers.get("sec-fetch-mode") != "navigate":
        raise ForeignOrigin("wanted a request of this service's page, got one of another site")


def is_own_page(headers: Headers) -> bool:
    """Tell whether `check_own_page` accepts a request."""
    try:
        check_own_page(headers)
    except ForeignOrigin:
        return False
    return True


def is_direct(headers: Headers) -> bool:
    """Tell whether a request to a gateway on loopback was sent on this machine.

    A proxy on this machine may forward requests of strangers. It shows itself by a header, or by
    the name of a site in Host. One that shows nothing cannot be noticed.
    """
    name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    return is_own(name) and not any(
        one in FORWARDED or one.startswith(FORWARDED_START) for one in headers
    )
