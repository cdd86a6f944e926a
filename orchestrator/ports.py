"""TCP ports of this machine."""

import socket


def free_ports(count: int) -> list[int]:
    """Return ports that are free at the moment, to start a server on."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports
