#!/usr/bin/env python3
"""The health check: asks the gateway whether the service is ready.

For containers without curl. It imports the standard library alone, so that it starts in
milliseconds:

    python3 -IS orchestrator/host/probe.py localhost:8002/readyz

Exit status 0: ready. 1: anything else, with one sentence on stderr.
"""

from __future__ import annotations

import argparse
import http.client
import sys
from collections.abc import Sequence

MAX_S = 3600.0
"""Longest timeout."""


class ProbeError(Exception):
    """The reason why the service is not ready, as one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask once; return the exit status."""
    parser = argparse.ArgumentParser(description="Is the plate recognition service well?")
    parser.add_argument("url", nargs="?", default="localhost:8002/readyz", help="host:port/path")
    parser.add_argument("--timeout", type=_to_seconds, default=5.0, help="seconds")
    options = parser.parse_args(arguments)
    try:
        probe(options.url, options.timeout)
    except ProbeError as error:
        sys.stderr.write(f"probe: {options.url}: {error}\n")
        return 1
    return 0


def _to_seconds(text: str) -> float:
    """Return a timeout. A socket takes none that is `nan` or huge."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_S:
        limit = f"wanted seconds above 0 and up to {MAX_S:g}"
        raise argparse.ArgumentTypeError(f"{limit}, got {text!r}")
    return seconds


def probe(url: str, timeout_s: float) -> None:
    """Check that the service is ready.

    Raises:
        ProbeError: It is not; the message gives the reason.
    """
    host, slash, path = url.partition("/")
    connection = http.client.HTTPConnection(host, timeout=timeout_s)
    try:
        connection.request("GET", slash + path or "/")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise ProbeError(f"wanted an answer, got {error or type(error).__name__}") from error
    finally:
        connection.close()
    if status != http.client.OK:
        raise ProbeError(f"wanted HTTP 200, got {status}")


if __name__ == "__main__":
    sys.exit(main())
