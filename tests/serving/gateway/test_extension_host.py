"""An extension whose start, tasks and functions fail beside recognition."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway import extension_host
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.extension_host import ExtensionHost
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import NO_PART, ApiPart
from orchestrator.serving.gateway.options import GatewayOptions, Limits


class ExtensionRoom:
    """An extension with one route and one task, whose parts may fail."""

    def __init__(self, duty: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.duty, self.runs = duty, 0

    def routes(self, _service: DataPlane) -> Sequence[Route]:
        async def answer(_request: Request) -> Response:
            return PlainTextResponse("room")

        return [Route("/room", answer)]

    async def identify(self, _headers: object, _address: object) -> None:
        raise RuntimeError("a fault of the room")

    def describe(self) -> ApiPart:
        return NO_PART

    def duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        self.runs += 1
        return (self.duty(),)

    def broken_parts(self) -> Sequence[str]:
        return ("control room: database",)

    async def close(self) -> None:
        raise RuntimeError("it cannot be closed")


async def rest() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def hosted(
    folder: Path, open_room: Callable[[], Any]
) -> AsyncIterator[tuple[ExtensionHost, DataPlane]]:
    service = DataPlane(GatewayOptions(audit=folder / "audit", limits=Limits(calls=1)))
    host = ExtensionHost(service, open_room)
    await host.start()
    running = asyncio.create_task(host.run())
    yield host, service
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    await host.close()
    await service.close()


async def until_open(host: ExtensionHost) -> None:
    while await status_of(host, "/room") != 200:
        await asyncio.sleep(0.01)


async def status_of(host: ExtensionHost, path: str, method: str = "GET") -> int:
    """Return the status of a request without a body, which is answered in this loop."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status", 0))

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": [(b"host", b"localhost"), (b"content-length", b"0")],
        "http_version": "1.1", "scheme": "http", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    await host.app(scope, receive, send)  # type: ignore[arg-type]
    return statuses[0]


@pytest.mark.parametrize(
    "error", [SettingsError("a wrong file"), RuntimeError("a fault"), SystemExit(3)], ids=repr
)
async def test_a_room_that_cannot_be_opened_is_opened_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(extension_host, "RETRY_S", 0.01)
    failures = [error] * 3

    def open_room() -> ExtensionRoom:
        if failures:
            raise failures.pop()
        return ExtensionRoom(rest)

    async with hosted(tmp_path, open_room) as (host, service):
        assert await status_of(host, "/v1/recognize", "POST") == 400  # a picture is wanted
        assert await status_of(host, "/room") == 503
        assert service.broken_parts() == ("control room: it cannot be opened",)
        await until_open(host)
        assert await status_of(host, "/other") == 404
        assert service.broken_parts() == ("control room: database",)
        assert await status_of(host, "/v1/recognize", "POST") == 400  # it cannot tell who calls


async def test_a_room_that_hangs_at_its_start_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension_host, "OPEN_S", 0.01)
    goes_on = threading.Event()

    def open_room() -> ExtensionRoom:
        assert goes_on.wait(20)
        return ExtensionRoom(rest)

    async with hosted(tmp_path, open_room) as (host, _):
        assert await status_of(host, "/v1/recognize", "POST") == 400
        assert await status_of(host, "/room") == 503
        goes_on.set()
        await until_open(host)


async def fail() -> None:
    raise RuntimeError("a fault of the task")


async def end() -> None: ...


@pytest.mark.parametrize("duty", [fail, end])
async def test_a_task_that_ends_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duty: Callable[[], Any]
) -> None:
    monkeypatch.setattr(extension_host, "RETRY_S", 0.01)
    room = ExtensionRoom(duty)
    async with hosted(tmp_path, lambda: room) as (host, _):
        while room.runs < 3:
            await asyncio.sleep(0.01)
        assert await status_of(host, "/v1/recognize", "POST") == 400
