#!/usr/bin/env python3
"""Is the service well? Asks the gateway, which knows: it has its models read a plate every 10 s.

For a container's health check, where there is no curl. Standard library alone, and no import of the
package, so that it starts in milliseconds:

    python3 -IS orchestrator/system/probe.py localhost:8002/readyz

Exit status 0: it is. 1: anything else, with one sentence on stderr.
"""

from __future__ import annotations

import argparse
import http.client
import sys
from collections.abc import Sequence


class ProbeError(Exception):
    """What is wrong, as one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask once; return the exit status."""
    parser = argparse.ArgumentParser(description="Is the plate recognition service well?")
    parser.add_argument("url", nargs="?", default="localhost:8002/readyz", help="host:port/path")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds")
    given = parser.parse_args(arguments)
    try:
        probe(given.url, given.timeout)
    except ProbeError as error:
        sys.stderr.write(f"probe: {given.url}: {error}\n")
        return 1
    return 0


def probe(url: str, timeout_s: float) -> None:
    """See that the service is well.

    Raises:
        ProbeError: It is not; the message says why.
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
