"""Requests to an HTTP application without a socket."""

from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp


@dataclass(frozen=True)
class Reply:
    """Response of an application."""

    status: int
    headers: dict[str, str]
    body: bytes


async def request(
    app: ASGIApp, path: str, method: str = "GET", query: str = "", **headers: str
) -> Reply:
    """Return the response to a request without a body; `_` in names of headers stands for `-`."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    named = {"host": "localhost", **headers}.items()
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "headers": [(name.replace("_", "-").encode(), text.encode()) for name, text in named],
    }  # fmt: skip
    await app(scope, receive, send)
    shown = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Reply(sent[0]["status"], shown, body)
