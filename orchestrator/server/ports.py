"""TCP ports of this machine."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

ASSIGNABLE = range(10_000, 32_768)
"""Where to look for a free port: Linux gives those above to whoever opens a connection, also in the
seconds until a server that was told a port listens on it."""


def free_ports(count: int) -> list[int]:
    """Return ports that are free at the moment, to start a server on."""
    with ExitStack() as held:
        ports: list[int] = []
        for port in _shuffled():
            if len(ports) == count:
                break
            with suppress(OSError):  # somebody has it
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(port)
        return ports


def _shuffled() -> Iterator[int]:
    """Give every port once, in another order each time: others may be looking, too."""
    yield from random.SystemRandom().sample(ASSIGNABLE, len(ASSIGNABLE))
