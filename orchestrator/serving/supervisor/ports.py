"""TCP ports of this machine: finds free ones and checks wanted ones."""

from __future__ import annotations

import errno
import ipaddress
import random
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import combinations

from orchestrator.errors import ServerError
from orchestrator.host.loopback import reach
from orchestrator.host.toml_files import check_range

ASSIGNABLE = range(10_000, 32_768)
"""Range that is searched for a free port. Linux gives the ports above it to any program that opens
a connection, even in the seconds until the server listens on its port."""


@dataclass(frozen=True)
class ListenAddress:
    """An address and port to listen on.

    Attributes:
        name: The option that sets the port, with `_` for its dashes.
        host: An IP address.
        port: TCP port.
        host_option: The option that sets the host.
    """

    name: str
    host: str
    port: int
    host_option: str = "host"

    @property
    def flag(self) -> str:
        return f"choose another with --{self.name.replace('_', '-')}"


def free_ports(count: int) -> list[int]:
    """Return ports that are free at this moment, for a server to start on."""
    with ExitStack() as sockets:
        ports: list[int] = []
        for port in _shuffle_ports():
            if len(ports) == count:
                break
            if _is_taken("::1", port):  # clients of localhost may look there first
                continue
            with suppress(OSError):  # the port is in use
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(port)
        return ports


def _shuffle_ports() -> Iterator[int]:
    """Give every port once, each time in another order: other programs may search, too."""
    yield from random.SystemRandom().sample(ASSIGNABLE, len(ASSIGNABLE))


def address_of(host: str, name: str = "host") -> str:
    """Return a host's address; for a name, its IPv4 address.

    Triton's HTTP server takes a name for 255.255.255.255.

    Args:
        host: A name or an address.
        name: The option that sets the host.

    Raises:
        ServerError: The host has no such address.
    """
    with suppress(ValueError):
        return str(ipaddress.ip_address(host))
    try:
        addresses = socket.getaddrinfo(host or " ", None, socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ServerError(
            f"{name}: wanted an IP address of this machine or a name of it, got {host!r}"
        ) from error
    return str(addresses[0][4][0])


def check_listening(addresses: Sequence[ListenAddress]) -> None:
    """Check that this machine can listen on each of the ports.

    Raises:
        ServerError: One of them is no valid port, is the same as another, is in use, or is not
            allowed.
    """
    for address in addresses:
        check_range(address.name, address.port, 1, 65535, ServerError)
    for first, second in combinations(addresses, 2):
        if first.port == second.port:
            raise ServerError(
                f"{second.name}: wanted another port than {first.name}, got {first.port} for both"
            )
    for address in addresses:
        _check_free(address)


def _check_free(address: ListenAddress) -> None:
    name, host, port = address.name, address.host, address.port
    try:
        _bind(host, port)
    except OSError as error:
        if error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            raise ServerError(
                f"{address.host_option}: wanted an address of this machine, got {host}"
            ) from error
        if error.errno == errno.EACCES:
            raise ServerError(
                f"{name}: wanted a port that this user may open, got {port}; {address.flag}"
            ) from error
        raise ServerError(
            f"{name}: wanted a free port, got {port} ({error.strerror}); {address.flag}"
        ) from error
    if reach(host) == "localhost" and _is_taken("::1", port):
        raise ServerError(
            f"{name}: wanted a free port, got {port} (in use at ::1, where callers of localhost "
            f"may look first); {address.flag}"
        )


def _bind(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))


def _is_taken(address: str, port: int) -> bool:
    try:
        _bind(address, port)
    except OSError as error:  # or this machine has no IPv6
        return error.errno == errno.EADDRINUSE
    return False
