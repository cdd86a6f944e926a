"""An extension of the gateway: more routes, with what they need."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from starlette.routing import Route

from orchestrator.gateway.data_plane import DataPlane, Identify
from orchestrator.gateway.http.openapi_schemas import ApiPart


class Extension(Protocol):
    """More routes beside those of recognition, behind the same policy."""

    def routes(self, service: DataPlane) -> Sequence[Route]:
        """Return the routes. They admit their callers through the service."""

    @property
    def identify(self) -> Identify | None:
        """Finds out who sends a picture from the first page without a key; None for nobody."""

    def describe(self) -> ApiPart:
        """Return its part of the API's documentation."""

    def duties(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Return what runs in the background until it is cancelled."""

    async def close(self) -> None:
        """Release everything, after the last answer."""


OpenExtension = Callable[[], Extension]
"""Opens an extension inside the gateway's event loop."""
