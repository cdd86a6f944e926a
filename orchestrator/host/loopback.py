"""Direct HTTP and gRPC connections, which ignore any proxy of the environment.

A proxy cannot reach this machine's loopback: calls through it fail or hang. Calls with pictures
also go directly.
"""

from __future__ import annotations

import ipaddress
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

NAMES = ("localhost", "::1", "127.0.0.1")
"""Names of this machine for NO_PROXY. The IPv4 address comes last: libcurl in Triton's wheel
recognises it only at the end of a list."""
PAST_PROXY = ("grpc.enable_http_proxy", 0)
"""Option of a gRPC channel; the gRPC library also reads the environment."""


def open_url(request: str | urllib.request.Request, timeout_s: float) -> Any:
    """Open an HTTP URL as `urllib.request.urlopen` does, but without a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(request, timeout=timeout_s)


def is_loopback(url: str) -> bool:
    """Tell whether a URL's host is one of this machine's own names."""
    return urlsplit(url).hostname in NAMES


def is_own(host: str) -> bool:
    """Tell whether a server on this host, a name or an address, listens only to this machine."""
    if host in NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def to_literal(host: str) -> str:
    """Return the IP address at which programs on this machine reach a server on a host.

    Keys are sent there: a resolver may give the name `localhost` another machine's address.
    """
    return {"0.0.0.0": "127.0.0.1", "localhost": "127.0.0.1", "::": "::1"}.get(host, host)


def reach(host: str) -> str:
    """Return the host for a URL, which reaches a server on an address from this machine."""
    if host in {"0.0.0.0", "127.0.0.1"}:
        return "localhost"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


def without_proxy(variables: Mapping[str, str]) -> dict[str, str]:
    """Return NO_PROXY in both spellings: its present value and this machine's names."""
    exceptions = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    value = (
        exceptions if exceptions.strip() == "*" else ",".join(filter(None, [exceptions, *NAMES]))
    )
    return {"no_proxy": value, "NO_PROXY": value}
