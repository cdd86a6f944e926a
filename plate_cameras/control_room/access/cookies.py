"""The session's cookie, and the token against requests that other sites make with it.

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

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response

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


def is_csrf_valid(token: str, given: str) -> bool:
    """Tell whether a CSRF token belongs to a session, in a time that reveals nothing."""
    return hmac.compare_digest(csrf_of(token).encode(), given.encode())


def uses_tls(scheme: str, headers: Headers) -> bool:
    """Tell whether the browser speaks TLS, to the gateway or to a proxy before it."""
    return scheme == "https" or headers.get("origin", "").startswith("https://")


def read_token(cookies: str, *, has_tls: bool) -> str | None:
    """Return the token of a session from the header Cookie; None if there is none.

    Args:
        cookies: The header.
        has_tls: The gateway itself has TLS; then only the cookie with the prefix counts.
    """
    given = cookie_parser(cookies)
    token = given.get(NAME_WITH_TLS) or ("" if has_tls else given.get(NAME, ""))
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
