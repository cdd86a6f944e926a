"""A server that takes messages to people."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

WORD = "very-secret-word"


class Inbox(HTTPServer):
    """Takes messages, and answers with a status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), InboxHandler)
        self.status, self.paths, self.messages = 200, list[str](), list[Any]()
        self.status_of: Callable[[Any], int] = lambda _: self.status
        self.answers: Iterator[bytes] = iter(())
        self.url = f"json://user:{WORD}@127.0.0.1:{self.server_port}/{WORD}"


class InboxHandler(BaseHTTPRequestHandler):
    server: Inbox

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        self.server.paths.append(self.path)
        self.server.messages.append(json.loads(self.rfile.read(size)))
        self.send_response(self.server.status_of(self.server.messages[-1]))
        self.send_header("location", "/elsewhere")
        self.end_headers()
        with suppress(OSError):
            for block in self.server.answers:
                self.wfile.write(block)

    def log_message(self, *_: object) -> None: ...
