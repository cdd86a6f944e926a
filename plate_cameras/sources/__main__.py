"""`python -m plate_cameras.sources 3`: a decoder whose socket is file descriptor 3.

A number before it is the memory in megabytes that it may take. The exit status is EX_TEMPFAIL (75)
if the system had no more threads: no camera has caused that. Source: sysexits.h(3head).
"""

from __future__ import annotations

import logging
import os
import resource
import socket
import sys
from pathlib import Path

import av.logging
import cv2

from orchestrator.host.resources import usable_cores
from plate_cameras.sources.decoder import Decoder
from plate_cameras.sources.network.failures import log_fault

MAX_MEMORY_MB = 1536
"""Memory that a decoder may take for its cameras. Four cameras of 8 megapixels take some 500 MB."""

THREAD_BYTES = 16 << 20
"""Memory that a decoder's threads take for each core: mostly stacks that are not used."""


def limit_memory(max_bytes: int) -> None:
    """Limit the memory that this process may allocate from now on. Later allocations fail.

    Source: Linux, "getrlimit(2)" and "proc_pid_status(5)".
    """
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    used_bytes = int(fields["VmData"].split()[0]) << 10
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft_limit = used_bytes + max_bytes
    limit = soft_limit if hard == resource.RLIM_INFINITY else min(soft_limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def main() -> None:
    """Serve until the parent process closes the socket."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    av.logging.set_level(None)  # FFmpeg would write URLs with their passwords
    cv2.setNumThreads(1)
    status = 1
    try:
        *megabytes, descriptor = map(int, sys.argv[1:])
        max_bytes = (megabytes or [MAX_MEMORY_MB])[0] << 20
        limit_memory(max_bytes + usable_cores() * THREAD_BYTES)
        Decoder(socket.socket(fileno=descriptor)).serve()
        status = 0
    except Exception as error:
        log_fault("all cameras", error)
        if "start new thread" in str(error):
            status = os.EX_TEMPFAIL
    finally:
        os._exit(status)  # threads may hang, and are not waited for


if __name__ == "__main__":
    main()
