"""Clients of the gateway and their quotas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network

from orchestrator.host.network_addresses import ipv4_inside
from orchestrator.serving.gateway.options import Limits

GATE, USUAL, ARCHIVE = 0, 1, 2
PRIORITIES = {"gate": GATE, "usual": USUAL, "archive": ARCHIVE}
"""Priorities by their names in a file of keys."""
ROLES = ("sender", "viewer", "editor", "administrator")
"""Roles that a key may have, for extensions. Recognition asks for none."""
KEY_PREFIX, PERSON_PREFIX = "key:", "person:"
IPV6_PREFIX = 64
"""Bits of an IPv6 address that identify a client. A host may choose the other bits freely."""


UNKNOWN = "unknown"
"""Name of the client whose address is not known."""


@dataclass(frozen=True)
class Client:
    """One client, identified by its API key or its IP address.

    Attributes:
        name: `key:NAME` of its key, `person:NAME` of a person who has logged in, else its IP
            address.
        calls: Largest number of its calls at once, including calls that wait.
        rate: Largest number of its calls a second. As many may come at once after a pause.
        priority: Priority of its calls: 0 is served before 1, and 1 before 2.
        role: Role of its key or person, one of `ROLES`; empty for none.
        groups: Groups of cameras that it may see; empty for all.
    """

    name: str
    calls: int
    rate: float
    priority: int = USUAL
    role: str = ""
    groups: tuple[str, ...] = ()

    @property
    def administers_all(self) -> bool:
        """It may administer the cameras of all groups."""
        return self.role == ROLES[-1] and not self.groups


def client_at(address: str, limits: Limits) -> Client:
    """Return the client at an IP address.

    An IPv4 address inside an IPv6 address, as translators of networks write it, counts as IPv4.

    Args:
        address: IP address; empty if it is not known. All unknown addresses are one client.
        limits: Limits of the gateway.

    Raises:
        ValueError: The address is no IP address.
    """
    return Client(_name_of(address), limits.client_calls, limits.client_rate)


@lru_cache(maxsize=10_000)
def _name_of(address: str) -> str:
    if not address:
        return UNKNOWN
    ip = ip_address(address.partition("%")[0])  # without the network interface
    if isinstance(ip, IPv4Address):
        return str(ip)
    if (inner := ipv4_inside(ip)) is not None:
        return str(inner)
    return str(ip_network((ip, IPV6_PREFIX), strict=False))
