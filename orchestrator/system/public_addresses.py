"""Tells addresses of the internet from those of private networks."""

from __future__ import annotations

import ipaddress


def is_public(address: str) -> bool:
    """Tell whether an IP address is global, and so is any IPv4 address inside it."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        return inner.is_global if inner else ip.is_global
    return ip.is_global
