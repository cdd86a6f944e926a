"""`python -m orchestrator.gateway`: one process; its options come as JSON on standard input."""

from __future__ import annotations

import gc
import logging
import resource
import signal
import sys

import uvloop

from orchestrator.children import STOP_SIGNALS
from orchestrator.errors import PlateError
from orchestrator.gateway.events import STDIN
from orchestrator.gateway.handover import from_json
from orchestrator.gateway.options import GatewayOptions
from orchestrator.gateway.server import serve

GARBAGE = 10_000
"""New objects until Python looks for circles among them: a call makes hundreds, and none."""
TALKATIVE = ("python_multipart", "uvicorn.error")
"""Loggers that tell of every damaged form, and of all that is no HTTP."""
FILES = 256
"""Open files beside the connections."""


def main() -> None:
    """Serve until told to end."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    for talkative in TALKATIVE:
        logging.getLogger(talkative).setLevel(logging.ERROR)
    gc.freeze()  # what was imported stays
    gc.set_threshold(GARBAGE)
    try:
        options = from_json(read_line())
        allow_files(options)
        uvloop.run(serve(options))
    except PlateError as error:
        sys.exit(f"gateway: {error}")
    finally:
        for number in STOP_SIGNALS:  # an impatient second one, while Python ends
            signal.signal(number, signal.SIG_IGN)


def read_line() -> str:
    """Return the first line of the standard input, and leave the others there."""
    with open(STDIN, "rb", buffering=0, closefd=False) as file:
        return file.readline().decode()


def allow_files(options: GatewayOptions) -> None:
    """Let the process have the connections that its limits say, and those of gRPC, if it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * options.limits.connections + FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, most), most))


if __name__ == "__main__":
    main()
