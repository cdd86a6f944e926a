"""Tells addresses of the internet from those of private networks."""

from __future__ import annotations

import ipaddress

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses whose last four bytes a translator takes for an IPv4 address (RFC 6052)."""
LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
"""The same within one network (RFC 8215)."""
COMPATIBLE = ipaddress.IPv6Network("::/96")
"""The same, in a form that is out of use (RFC 4291, section 2.5.5.1)."""


def is_public(address: str) -> bool:
    """Tell whether an IP address is global, and so is any IPv4 address inside it."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = _inner_of(ip)
        is_global = bool(inner) or (ip.is_global and ip not in LOCAL_NAT64)
        return is_global and all(one.is_global for one in inner)
    return ip.is_global


def _inner_of(ip: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses that stand inside an address."""
    translated = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    found = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    found += [translated] if ip in NAT64 or ip in COMPATIBLE else []
    return [one for one in found if one]
