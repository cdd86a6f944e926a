"""Tells systemd that the service is ready, by the protocol of sd_notify(3)."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

SOCKET = "NOTIFY_SOCKET"
"""The variable that systemd sets for a unit with `Type=notify`: the address of its socket."""
READY = b"READY=1"

logger = logging.getLogger(__name__)


def report_ready(environ: Mapping[str, str] = os.environ) -> None:
    """Tell systemd that the service is ready; without systemd, do nothing.

    A socket that cannot be reached is logged: the service itself can work without it.

    Args:
        environ: The environment. In the address, a leading @ stands for an abstract socket.
    """
    address = environ.get(SOCKET, "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto(READY, address)
    except OSError as error:
        logger.warning("systemd was not told that the service is ready: %s", error.strerror)
