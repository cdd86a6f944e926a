"""Checks of network addresses: their form in settings, and whether they are public."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from orchestrator.errors import SettingsError

NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last part of a host that is an IPv4 address in any form, such as 127.1 and 0x7f000001."""
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses whose last four bytes a translator takes for an IPv4 address (RFC 6052)."""
LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
"""IPv6 addresses that contain an IPv4 address within one network (RFC 8215)."""
COMPATIBLE = ipaddress.IPv6Network("::/96")
"""IPv6 addresses that contain an IPv4 address in an obsolete form (RFC 4291, section 2.5.5.1)."""
HELP = "in a user name or password write @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F"


def is_public(address: str) -> bool:
    """Tell whether an IP address is global, and so is any IPv4 address inside it."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = _inner_of(ip)
        is_global = bool(inner) or (ip.is_global and ip not in LOCAL_NAT64)
        return is_global and all(address.is_global for address in inner)
    return ip.is_global


def may_be_name(host: str) -> bool:
    """Tell whether a host is a name, which has to be resolved, and not an address in any form.

    Args:
        host: The host as the program that connects reads it: `①②⑦.0.0.1` is `127.0.0.1` there.

    Source: WHATWG URL, section 3.5, "ends in a number checker".
    """
    last = host.lower().rstrip(".").rpartition(".")[2]
    return ":" not in host and not NUMBER.fullmatch(last)


def ipv4_inside(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address of the host that an IPv6 address stands for; None if there is none.

    Behind a translator (NAT64), all IPv4 hosts of the internet share one IPv6 network.
    """
    if ip in NAT64 or ip in LOCAL_NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _inner_of(ip: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses that stand inside an address."""
    translated = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    inner += [translated] if ip in NAT64 or ip in COMPATIBLE else []
    return [address for address in inner if address]


def check_address(name: str, address: str) -> None:
    """Reject an address that cannot be parsed. A path of a file is taken as it is.

    Args:
        name: Name of the setting.
        address: Such as `rtsp://user:password@10.0.0.5:554/stream1`.

    Raises:
        SettingsError: It has control characters, or its host or port cannot be read.
    """
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in address):
        raise SettingsError(f"{name}: wanted an address, got one with a control character")
    if "://" not in address:
        return
    try:
        urlsplit(address).port  # noqa: B018 - it is parsed when it is read
    except ValueError as error:
        raise SettingsError(
            f"{name}: wanted an address like rtsp://user:password@10.0.0.5:554/stream1, "
            f"got one whose host or port cannot be read; {HELP}"
        ) from error
