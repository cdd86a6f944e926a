"""`python -m orchestrator.cameras.sources 3`: a decoder whose socket is file descriptor 3."""

from __future__ import annotations

import logging
import os
import socket
import sys

import av.logging
import cv2

from orchestrator.cameras.sources.decoder import Decoder
from orchestrator.cameras.sources.failures import log_fault


def main() -> None:
    """Serve until the parent process closes the socket."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    av.logging.set_level(None)  # FFmpeg would write URLs with their passwords
    cv2.setNumThreads(1)
    status = 1
    try:
        Decoder(socket.socket(fileno=int(sys.argv[1]))).serve()
        status = 0
    except Exception as error:
        log_fault("all cameras", error)
    finally:
        os._exit(status)  # threads may hang, and are not waited for


if __name__ == "__main__":
    main()
