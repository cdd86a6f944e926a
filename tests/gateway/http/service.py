"""A gateway's HTTP application in a test's own process."""

from collections.abc import Callable

from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.http.app import make_app
from orchestrator.gateway.options import GatewayOptions


def client_of(
    options: GatewayOptions,
    make: Callable[[DataPlane], ASGIApp] = make_app,
    *,
    is_leaving: bool = False,
) -> TestClient:
    """Return a client of an application with these options.

    Each request has an event loop, and so a data plane, of its own. None may reach Triton: for gRPC
    there is the loop of `tests.gateway.loops`.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        service = DataPlane(options)
        service.connections.is_leaving = is_leaving
        await make(service)(scope, receive, send)
        await service.close()

    return TestClient(app, "http://localhost", client=("127.0.0.1", 50000))
