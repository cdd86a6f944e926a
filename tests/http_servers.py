"""HTTP servers on this machine for the length of a `with` block."""

import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any


class QuietHandler:
    """The part of a handler that writes no log."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running_http(handler: Callable[..., Any]) -> Iterator[ThreadingHTTPServer]:
    """Run a server on a free port; its threads may outlive it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def is_answered(url: str) -> bool:
    """Tell whether a server answers this URL with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
