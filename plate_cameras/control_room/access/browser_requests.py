"""Parts of a browser's request: the cookie and CSRF token of its session, and the page that asks.

A browser that reaches the service over TLS gets a cookie with the prefix `__Host-`, which no other
host and no page without TLS can set. The scheme comes from the connection, or behind a proxy that
ends TLS from the browser's own header Origin. A client that lies there weakens its own cookie only.

Source: RFC 6265bis, 4.1.3 (prefixes); OWASP, "Cross-Site Request Forgery Prevention".
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from orchestrator.host.loopback import is_own
from orchestrator.serving.gateway.extension import ELSEWHERE, ForeignOrigin

NAME, NAME_WITH_TLS = "plates_session", "__Host-plates_session"
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
TOKEN_BYTES = 32
CSRF_HEADER = "x-csrf-token"


def make_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def csrf_of(token: str) -> str:
    """Return the CSRF token of a session. Nobody can compute the session's token from it."""
    return hmac.new(token.encode(), b"plates csrf", hashlib.sha256).hexdigest()


def is_csrf_valid(token: str, csrf: str) -> bool:
    """Tell whether a CSRF token belongs to a session, in a time that reveals nothing."""
    return hmac.compare_digest(csrf_of(token).encode(), csrf.encode())


def uses_tls(scheme: str, headers: Headers) -> bool:
    """Tell whether the browser speaks TLS, to the gateway or to a proxy before it."""
    return scheme == "https" or headers.get("origin", "").startswith("https://")


def read_token(cookies: str, *, has_tls: bool) -> str | None:
    """Return the token of a session from the header Cookie; None if there is none.

    Args:
        cookies: The header.
        has_tls: The gateway itself has TLS; then only the cookie with the prefix counts.
    """
    values = cookie_parser(cookies)
    token = values.get(NAME_WITH_TLS) or ("" if has_tls else values.get(NAME, ""))
    return token if TOKEN.fullmatch(token) else None


def set_cookie(response: Response, token: str, lifetime_s: float, *, is_secure: bool) -> None:
    """Give the browser a session."""
    response.set_cookie(
        NAME_WITH_TLS if is_secure else NAME,
        token,
        max_age=int(lifetime_s),
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="strict",
    )


def delete_cookies(response: Response) -> None:
    """Take the session from the browser, under each name."""
    response.delete_cookie(NAME, path="/", httponly=True, samesite="strict")
    response.delete_cookie(NAME_WITH_TLS, path="/", secure=True, httponly=True, samesite="strict")


SENT_HEADERS = re.compile(
    "accept.*|access-control-request-.*|alt-used|authorization|cache-control|connection|content-.*|cookie"
    "|dnt|expect|host|if-.*|keep-alive|last-event-id|origin|pragma|priority|range|referer"
    "|save-data|sec-.*|te|traceparent|tracestate|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent"
    "|x-api-key|x-automatic|x-csrf-token|x-reason|x-request-id|x-requested-with"
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

    A proxy on this machine may forward requests of strangers. It is recognised by a header that no
    browser sends, by the name of a site in Host, or by HTTP/1.0, the default of nginx. One that
    shows nothing cannot be noticed.
    """
    headers = request.headers
    name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    is_known = all(map(SENT_HEADERS.fullmatch, headers))
    return is_own(name) and is_known and request.scope["http_version"] != "1.0"
