"""Checks of server URLs and API keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from orchestrator.errors import ServerError, SettingsError

WANTED = "url: wanted host:port, http(s)://host:port or grpc(s)://host:port"
SCHEMES = {"": "http", "http": "http", "https": "http", "grpc": "grpc", "grpcs": "grpc"}
"""Protocols by the scheme of a URL."""
PORTS = {"http": 80, "https": 443}
"""Default ports, for URLs without a port."""
KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class ServerAddress:
    """The address and protocol of a server.

    Attributes:
        protocol: http or grpc.
        host: Name or IP address; an IPv6 address in brackets.
        port: TCP port.
        is_tls: The connection uses TLS.
        base: Path in front of the inference protocol's path, over HTTP.
    """

    protocol: str
    host: str
    port: int
    is_tls: bool = False
    base: str = ""


def parse_address(url: Any) -> ServerAddress:
    """Read `host:port`, `http(s)://host[:port]` or `grpc(s)://host:port`.

    Raises:
        ServerError: The URL is none of these.
    """
    scheme, _, location = str(url).rpartition("://")
    scheme = scheme.lower()
    try:
        parts = parse_url(f"http://{location}")
    except LocationParseError as error:
        raise ServerError(f"{WANTED}, got {url!r}") from error
    if parts.auth:
        raise ServerError(f"{WANTED}, got one with a user or password")
    protocol, base = SCHEMES.get(scheme), (parts.path or "").rstrip("/")
    port = PORTS.get(scheme) if parts.port is None else parts.port
    has_other_parts = parts.query or parts.fragment or (base and protocol == "grpc")
    if not protocol or not parts.host or not port or has_other_parts:
        raise ServerError(f"{WANTED}, got {url!r}")
    return ServerAddress(protocol, parts.host, port, scheme in {"https", "grpcs"}, base)


def make_headers(key: Any) -> dict[str, str]:
    """Return the headers of every call. Over gRPC they are metadata.

    Args:
        key: API key; None for no key.

    Raises:
        SettingsError: The key is not valid. The message does not show it: it may be a real key
            with a blank.
    """
    if key is None:
        return {}
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise SettingsError(
            "key: wanted printable ASCII characters without blanks, got what is not shown here"
        )
    return {"authorization": f"Bearer {key}"}
