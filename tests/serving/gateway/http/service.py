"""A gateway's HTTP application in a test's own process."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.http.app import make_app
from orchestrator.serving.gateway.options import GatewayOptions


def client_of(
    options: GatewayOptions,
    make: Callable[[DataPlane], ASGIApp] = make_app,
    *,
    is_leaving: bool = False,
    peer: str = "127.0.0.1",
) -> TestClient:
    """Return a client of an application with these options.

    Each request has an event loop, and so a data plane, of its own. None may reach Triton: for gRPC
    there is the loop of `tests.serving.gateway.loops`.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        service = DataPlane(options)
        service.connections.is_leaving = is_leaving
        await make(service)(scope, receive, send)
        await service.close()

    return TestClient(app, "http://localhost", client=(peer, 50000))


def lasting_app(open_app: Callable[[], AbstractAsyncContextManager[ASGIApp]]) -> ASGIApp:
    """Return an application that opens and closes another one inside its event loop."""
    inner: list[ASGIApp] = []

    async def live(receive: Receive, send: Send) -> None:
        await receive()
        async with open_app() as app:
            inner.append(app)
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
        else:
            await inner[0](scope, receive, send)

    return app
