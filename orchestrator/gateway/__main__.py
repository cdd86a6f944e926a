"""`python -m orchestrator.gateway`: one process; its options come as JSON on standard input."""

from __future__ import annotations

import gc
import logging
import sys

import uvloop

from orchestrator.errors import PlateError
from orchestrator.gateway.handover import from_json
from orchestrator.gateway.server import serve

GARBAGE = 10_000
"""New objects until Python looks for circles among them: a call makes hundreds, and none."""


def main() -> None:
    """Serve until told to end."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    gc.freeze()  # what was imported stays
    gc.set_threshold(GARBAGE)
    try:
        uvloop.run(serve(from_json(sys.stdin.read())))
    except PlateError as error:
        sys.exit(f"gateway: {error}")


if __name__ == "__main__":
    main()
