"""Where a server is, and what a caller shows it: URLs and API keys, checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from orchestrator.errors import ServerError, SettingsError

WANTED = "url: wanted host:port, http(s)://host:port or grpc(s)://host:port"
SCHEMES = {"": "http", "http": "http", "https": "http", "grpc": "grpc", "grpcs": "grpc"}
"""The protocol of each scheme."""
PORTS = {"http": 80, "https": 443}
"""Where none is said."""
KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Address:
    """Where a server is, and how it is called.

    Attributes:
        protocol: http or grpc.
        host: Name or IP address; an IPv6 address in brackets.
        port: TCP port.
        is_tls: Whether TLS is spoken there.
        base: Path before that of the inference protocol, over HTTP.
    """

    protocol: str
    host: str
    port: int
    is_tls: bool = False
    base: str = ""


def parse_address(url: Any) -> Address:
    """Read `host:port`, `http(s)://host[:port]` or `grpc(s)://host:port`.

    Raises:
        ServerError: It is none of these.
    """
    scheme, _, rest = str(url).rpartition("://")
    scheme = scheme.lower()
    try:
        parsed = parse_url(f"http://{rest}")
    except LocationParseError as error:
        raise ServerError(f"{WANTED}, got {url!r}") from error
    if parsed.auth:
        raise ServerError(f"{WANTED}, got one with a user or password")
    protocol, base = SCHEMES.get(scheme), (parsed.path or "").rstrip("/")
    port = PORTS.get(scheme) if parsed.port is None else parsed.port
    has_more = parsed.query or parsed.fragment or (base and protocol == "grpc")
    if not protocol or not parsed.host or not port or has_more:
        raise ServerError(f"{WANTED}, got {url!r}")
    return Address(protocol, parsed.host, port, scheme in {"https", "grpcs"}, base)


def make_headers(key: Any) -> dict[str, str]:
    """Return what goes along with every call, over gRPC as metadata.

    Args:
        key: API key; none when None.

    Raises:
        SettingsError: It can be none. It is not repeated, since it may be one all but for a blank.
    """
    if key is None:
        return {}
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise SettingsError(
            "key: wanted printable ASCII characters without blanks, got what is not shown here"
        )
    return {"authorization": f"Bearer {key}"}
