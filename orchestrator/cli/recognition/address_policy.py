"""Limits the addresses of downloads: a stranger's URL must not reach private networks."""

from __future__ import annotations

import socket
from enum import Enum
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NameResolutionError, NewConnectionError

from orchestrator.errors import PictureError
from orchestrator.host.network_addresses import is_public


class AddressPolicy(Enum):
    """The addresses that a URL may lead to.

    Private addresses are loopback, link-local and private ones, and all others that are not global.
    """

    PUBLIC = "public"
    """No private addresses: for URLs of a list, which a stranger may have written."""
    TYPED = "typed"
    """For a URL that the user typed: its own host may be private, but no other address may."""
    ALL = "all"
    """All addresses."""


class GuardedConnector:
    """Connects to the addresses that a policy allows.

    A name is resolved once, and the connection goes to the checked address. A name that resolves
    differently the next time (DNS rebinding) therefore gains nothing.
    """

    def __init__(self, policy: AddressPolicy) -> None:
        self._is_all = policy is AddressPolicy.ALL
        self._is_first = policy is AddressPolicy.TYPED
        self._typed_addresses: set[str] = set()

    def connect(self, host: str, port: int, timeout_s: float | None) -> socket.socket:
        """Return a socket that is connected to a host.

        Raises:
            PictureError: All addresses of the host are private.
            OSError: The host does not exist, or does not answer.
        """
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(answer[4][0]) for answer in answers]
        allowed_addresses = [address for address in addresses if self._allows(address)]
        if not allowed_addresses:
            raise PictureError(
                f"wanted a public address, got {addresses[0]} for {host}; --private-addresses "
                "allows it"
            )
        *earlier, last = allowed_addresses
        for address in earlier:
            try:
                return self._connect(address, port, timeout_s)
            except OSError:  # the next address may answer
                continue
        return self._connect(last, port, timeout_s)

    def _connect(self, address: str, port: int, timeout_s: float | None) -> socket.socket:
        connection = socket.create_connection((address, port), timeout_s)
        if self._is_first:
            self._is_first = False
            self._typed_addresses.add(address)
        return connection

    def _allows(self, address: str) -> bool:
        return (
            self._is_all or self._is_first or address in self._typed_addresses or is_public(address)
        )


def make_web(policy: AddressPolicy, **options: Any) -> PoolManager:
    """Return a pool of connections within a policy; with `TYPED` it is for only one URL.

    Args:
        policy: The addresses that they may lead to.
        options: Options of the `PoolManager`.
    """
    connector = GuardedConnector(policy)

    def open_socket(connection: HTTPConnection) -> socket.socket:
        timeout = connection.timeout
        timeout_s = timeout if isinstance(timeout, int | float) else None
        try:
            return connector.connect(connection.host.strip("[]"), connection.port, timeout_s)
        except socket.gaierror as error:
            raise NameResolutionError(connection.host, connection, error) from error
        except OSError as error:
            raise NewConnectionError(connection, str(error)) from error

    class Plain(HTTPConnection):
        _new_conn = open_socket

    class Secured(HTTPSConnection):
        _new_conn = open_socket

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecuredPool(HTTPSConnectionPool):
        ConnectionCls = Secured

    web = PoolManager(**options)
    web.pool_classes_by_scheme = {"http": PlainPool, "https": SecuredPool}
    return web
