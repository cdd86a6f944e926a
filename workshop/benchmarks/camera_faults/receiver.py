"""A receiver of HTTP requests that can be hostile: a webhook, or the relay of a gate.

    python -m workshop.benchmarks.camera_faults.receiver PORT LOG MANNER

Every request is a line in the file LOG. The file MANNER names how requests are answered.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SLOW_S, SILENT_S = 3.0, 3600.0
STATUSES = {"ok": 204, "slow": 204, "error": 500, "gone": 410, "busy": 429, "endless": 200}
"""Status by manner. `silent` and `dies` give none."""
RETRY_AFTER_S = 5
CHUNK = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        manner = Path(sys.argv[3]).read_text(encoding="utf-8")
        self._log(manner, body.decode())
        if manner in ("slow", "silent"):
            time.sleep(SLOW_S if manner == "slow" else SILENT_S)
        if manner == "dies":
            self.close_connection = True
            return
        with suppress(OSError):
            self._answer(manner)

    def _answer(self, manner: str) -> None:
        self.send_response(STATUSES[manner])
        if manner == "busy":
            self.send_header("Retry-After", str(RETRY_AFTER_S))
        if manner == "endless":
            self.send_header("Transfer-Encoding", "chunked")
        elif STATUSES[manner] != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()
        while manner == "endless":
            self.wfile.write(CHUNK)
            time.sleep(0.01)

    def _log(self, manner: str, body: str) -> None:
        """Write a line before the answer, so that no request is unseen."""
        line = {
            "at_s": time.monotonic(),
            "manner": manner,
            "id": self.headers.get("webhook-id", ""),
            "body": body,
        }
        self.server.log.write(json.dumps(line).encode() + b"\n")  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Write no other log."""


class Receiver(ThreadingHTTPServer):
    """The server."""

    daemon_threads, request_queue_size = True, 64

    def __init__(self, port: int, log: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.log = Path(log).open("ab", buffering=0)  # noqa: SIM115  # as long as the process


if __name__ == "__main__":
    Receiver(int(sys.argv[1]), sys.argv[2]).serve_forever()
