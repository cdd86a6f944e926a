"""URLs of cameras with users and passwords, which may hold any character."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import HELP

NETWORK = ("rtsp", "rtsps", "http", "https")
UNNAMED = "the camera"
AUTHORITY = re.compile(r"[^/?#]*")
LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def check_url(url: str) -> None:
    """Check the URL of a camera on the network. Others are files and devices.

    Raises:
        SettingsError: It cannot be understood. The message says how to write it, without its parts:
            any of them may be the password.
    """
    scheme, separator, address = url.partition("://")
    if not separator or scheme.lower() not in NETWORK:
        return
    if not url.isprintable():
        raise SettingsError("url: wanted printable characters, got others")
    if _is_ambiguous(address):
        raise SettingsError(
            f"url: wanted {scheme}://user:password@host/path, got one whose password cannot be"
            f" told from the rest; {HELP}"
        )
    if not _host_of(url):
        raise SettingsError(
            f"url: wanted an address like {scheme}://user:password@host:port/path, got one whose"
            f" host or port cannot be read; {HELP}"
        )


def encode_login(url: str) -> str:
    """Return a URL whose user and password are percent-encoded, so that all programs read it alike.

    The host follows the last @ before the path, so a password may hold @ and :.
    """
    scheme, separator, address = url.partition("://")
    if not separator or scheme.lower() not in NETWORK:
        return url
    authority, path = _split(address)
    login, at, host = authority.rpartition("@")
    user, colon, password = login.partition(":")
    return f"{scheme}://{_encode(user)}{colon}{_encode(password)}{at}{host}{path}"


def show(url: str) -> str:
    """Return scheme, host and port of a URL. Cameras take passwords in the path and query, too."""
    scheme, _, address = url.partition("://")
    host = "" if _is_ambiguous(address) or not url.isprintable() else _host_of(url)
    return f"{scheme.lower()}://{host}" if host else UNNAMED


def host_of(url: str) -> str:
    """Return the name or address of the host; empty if a password may be mistaken for it."""
    return "" if show(url) == UNNAMED else urlsplit(encode_login(url)).hostname or ""


def _is_ambiguous(address: str) -> bool:
    """Tell whether a password may hold the character that ends the host's part of a URL."""
    authority, path = _split(address)
    path_before, at, path_after = path.rpartition("@")
    if not at or "@" in authority:
        return False
    _, colon, port = authority.partition(":")
    host, _ = _split(path_after)
    is_port = not colon or port.isdecimal()
    return not is_port or "#" in path_before or _is_address(host.partition(":")[0])


def _host_of(url: str) -> str:
    """Return host and port of a URL; empty if they are not valid."""
    try:
        parts = urlsplit(encode_login(url))
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return f"{host}:{parts.port}" if parts.port and host else host
    except ValueError:  # no valid port or IPv6 address
        return ""


def _split(address: str) -> tuple[str, str]:
    """Return user, password, host and port of a URL, and what follows."""
    match = AUTHORITY.match(address)
    end = match.end() if match else 0
    return address[:end], address[end:]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _encode(text: str) -> str:
    return quote(LONE_PERCENT.sub("%25", text), safe="%!$&'()*+,;=-._~")
