"""Who calls, and what that client may have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network

from orchestrator.gateway.options import Limits

GATE, USUAL, ARCHIVE = 0, 1, 2
PRIORITIES = {"gate": GATE, "usual": USUAL, "archive": ARCHIVE}
"""By the names that a file of keys has for them."""
KEY_PREFIX = "key:"
IPV6_PREFIX = 64
"""Bits of an IPv6 address that tell clients apart: one host has as many of the rest as it likes."""


UNKNOWN = "unknown"
"""Name of who calls from no address that is known."""


@dataclass(frozen=True)
class Client:
    """One caller: a key's, or an address's.

    Attributes:
        name: `key:NAME` of its key, else its IP address.
        calls: Most of its calls at once, those that wait included.
        rate: Most of its calls a second; as many may come at once after a pause.
        priority: Whose call waits least: 0 before 1 before 2.
    """

    name: str
    calls: int
    rate: float
    priority: int = USUAL


def client_at(address: str, limits: Limits) -> Client:
    """Return the client at an IP address; an IPv4 address that IPv6 maps is IPv4.

    Args:
        address: Empty where it is not known: all of those are one client.
        limits: Of the gateway.

    Raises:
        ValueError: It is no IP address.
    """
    return Client(_name_of(address), limits.client_calls, limits.client_rate)


@lru_cache(maxsize=10_000)
def _name_of(address: str) -> str:
    if not address:
        return UNKNOWN
    ip = ip_address(address.partition("%")[0])  # without the interface that it was seen at
    if isinstance(ip, IPv4Address):
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ip_network((ip, IPV6_PREFIX), strict=False))
