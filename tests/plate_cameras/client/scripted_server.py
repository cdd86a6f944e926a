"""A server that gives scripted answers in turn, for the tests of the client."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from plate_cameras.client import CamerasClient
from tests.http_servers import QuietHandler, running_http


@dataclass
class ScriptedAnswer:
    """An answer of the server; a stream ends after its pieces, unless it stays open."""

    pieces: Sequence[bytes] = ()
    status: int = 200
    kind: str = "text/event-stream"
    stays_open: bool = False


def to_answer(document: Any, status: int = 200) -> ScriptedAnswer:
    """Return an answer in JSON; it has no body where the document is None."""
    pieces = [] if document is None else [json.dumps(document).encode()]
    return ScriptedAnswer(pieces, status, "application/json")


@dataclass
class ScriptedRequest:
    """A request as the server got it; `body` is None where there was none."""

    method: str
    path: str
    body: Any
    key: str | None
    last_event: str | None


@dataclass
class ScriptedServer:
    """Gives each request the next answer, and records the requests."""

    answers: list[ScriptedAnswer]
    requests: list[ScriptedRequest] = field(default_factory=list)
    url: str = ""
    end: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(*answers: ScriptedAnswer) -> Iterator[ScriptedServer]:
    server = ScriptedServer(list(answers))

    class ScriptedHandler(QuietHandler, BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            document = json.loads(body) if body else None
            key, last_event = self.headers["authorization"], self.headers["last-event-id"]
            server.requests.append(
                ScriptedRequest(self.command, self.path, document, key, last_event)
            )
            answer = server.answers.pop(0)
            self.send_response(answer.status)
            self.send_header("content-type", answer.kind)
            self.end_headers()
            for piece in answer.pieces:
                self.wfile.write(piece)
            if answer.stays_open:
                server.end.wait(60)

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - as http.server calls them

    with running_http(ScriptedHandler) as http:
        server.url = f"127.0.0.1:{http.server_port}"
        yield server
        server.end.set()


@contextmanager
def asking(
    *answers: ScriptedAnswer, **options: Any
) -> Iterator[tuple[ScriptedServer, CamerasClient]]:
    """Yield a server with answers and a client of it."""
    with serving(*answers) as server, CamerasClient(server.url, **options) as client:
        yield server, client
