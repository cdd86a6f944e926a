"""A gateway's HTTP application in a test's own process."""

from collections.abc import Callable

from starlette.types import ASGIApp

from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.http.app import make_app
from orchestrator.gateway.options import GatewayOptions
from tests.gateway.asgi import Reply, request
from tests.gateway.loops import run


def ask(
    options: GatewayOptions,
    path: str,
    method: str = "GET",
    *,
    make: Callable[[DataPlane], ASGIApp] = make_app,
    is_leaving: bool = False,
    query: str = "",
    **headers: str,
) -> Reply:
    """Return the response of an application with these options to one request."""

    async def respond() -> Reply:
        service = DataPlane(options)
        service.connections.is_leaving = is_leaving
        reply = await request(make(service), path, method, query, **headers)
        await service.close()
        return reply

    return run(respond())
