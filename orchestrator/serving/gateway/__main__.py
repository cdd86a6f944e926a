"""`python -m orchestrator.serving.gateway`: one process, with options as JSON from stdin."""

from __future__ import annotations

import faulthandler
import gc
import logging
import resource
import signal
import sys

import uvloop

from orchestrator.errors import PlateError
from orchestrator.host.heartbeat import ASK
from orchestrator.host.subprocesses import STOP_SIGNALS
from orchestrator.serving.gateway.extension import find_extension
from orchestrator.serving.gateway.ipc import STDIN
from orchestrator.serving.gateway.options import GatewayOptions, from_json
from orchestrator.serving.gateway.server import serve

GARBAGE_THRESHOLD = 10_000
"""Threshold of Python's garbage collector, in new objects. A call makes hundreds, but no cycles."""
TALKATIVE_LOGGERS = ("python_multipart", "uvicorn.error")
"""Loggers that would report every damaged form and everything that is not HTTP."""
SPARE_FILES = 256
"""Open files that the process needs in addition to its connections."""


def main() -> None:
    """Serve until the process is told to end."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    for name in TALKATIVE_LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    faulthandler.register(ASK)  # a process that hangs writes down where
    gc.freeze()  # imported objects stay
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        options = from_json(read_line())
        allow_files(options)
        uvloop.run(serve(options, find_extension(options)))
    except PlateError as error:
        sys.exit(f"gateway: {error}")
    finally:
        for number in STOP_SIGNALS:  # ignore a second signal while Python ends
            signal.signal(number, signal.SIG_IGN)


def read_line() -> str:
    """Return the first line of the standard input. The other lines stay unread."""
    with open(STDIN, "rb", buffering=0, closefd=False) as file:
        return file.readline().decode()


def allow_files(options: GatewayOptions) -> None:
    """Raise the limit of open files for all HTTP and gRPC connections, as far as permitted."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    file_count = 2 * options.limits.connections + SPARE_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(file_count, hard_limit), hard_limit))


if __name__ == "__main__":
    main()
