"""Proxies before the gateway, which tell the addresses of their clients.

Each proxy adds the address of its own client to the end of X-Forwarded-For. Clients can forge all
entries before that of a trusted proxy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

HEADER = "x-forwarded-for"
MAX_HOPS = 16


class TrustedProxies:
    """The proxies that the operator trusts.

    Args:
        networks: Their addresses, or networks of them.

    Raises:
        ValueError: A text is no address and no network.
    """

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = tuple(ip_network(network) for network in networks)

    def trusts(self, address: str) -> bool:
        """Tell whether an address is that of a trusted proxy. Its limits would be all clients'."""
        if not self._networks:
            return False
        ip = _parse(address)
        return ip is not None and any(ip in network for network in self._networks)

    def client_of(self, peer: str, headers: Sequence[tuple[str, str]]) -> str:
        """Return the address of the client behind trusted proxies.

        Args:
            peer: Address at the other end of the connection.
            headers: Lower-case names and values of the headers.

        Returns:
            The last address that belongs to no trusted proxy; the proxy's if there is no other.
        """
        if not self._networks or not self.trusts(peer):
            return peer
        hops = ",".join(value for name, value in headers if name == HEADER).split(",")
        for text in hops[: -MAX_HOPS - 1 : -1]:
            ip = _parse(_without_port(text.strip()))
            if ip is None:
                break
            peer = str(ip)
            if not self.trusts(peer):
                break
        return peer


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


def _without_port(text: str) -> str:
    """Return an address as proxies write it, without its port."""
    text = text.strip('"')
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
