"""HTTP to servers that are asked straight, whatever proxy the environment names.

A proxy knows nothing of this machine's loopback: calls that it gets for it fail or hang. The calls
that carry pictures go straight, too.
"""

from __future__ import annotations

import ipaddress
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

NAMES = ("localhost", "::1", "127.0.0.1")
"""The IPv4 address comes last: libcurl in Triton's wheel knows one nowhere else in a list."""
PAST_PROXY = ("grpc.enable_http_proxy", 0)
"""For a gRPC channel, whose library reads the environment as well."""


def open_url(request: str | urllib.request.Request, timeout_s: float) -> Any:
    """Open an HTTP URL as `urllib.request.urlopen` does, past any proxy."""
    straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return straight.open(request, timeout=timeout_s)


def is_loopback(url: str) -> bool:
    """Tell whether a URL's host is this machine by one of its own names."""
    return urlsplit(url).hostname in NAMES


def is_own(host: str) -> bool:
    """Tell whether who listens at a host, a name or an address, listens to this machine alone."""
    if host in NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def to_literal(host: str) -> str:
    """Return the IP address at which programs on this machine reach who listens at a host.

    Keys go there: a resolver may answer the name `localhost` with another machine's address.
    """
    return {"0.0.0.0": "127.0.0.1", "localhost": "127.0.0.1", "::": "::1"}.get(host, host)


def reach(host: str) -> str:
    """Return what people on this machine put into a URL for who listens at an address."""
    if host in {"0.0.0.0", "127.0.0.1"}:
        return "localhost"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


def without_proxy(variables: Mapping[str, str]) -> dict[str, str]:
    """Return NO_PROXY in both spellings, as it is and with the names of this machine."""
    given = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    value = given if given.strip() == "*" else ",".join(filter(None, [given, *NAMES]))
    return {"no_proxy": value, "NO_PROXY": value}
