"""An extension of the gateway: more routes, with what they need."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from starlette.routing import Route

from orchestrator.errors import PlateError
from orchestrator.serving.gateway.data_plane import DataPlane, Headers, Identify
from orchestrator.serving.gateway.http.api_docs.openapi_schemas import ApiPart
from orchestrator.serving.gateway.policy.clients import Client

logger = logging.getLogger(__name__)


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

    def broken_parts(self) -> Sequence[str]:
        """Return what does not work now, in words that everybody may read; none if all works."""

    async def close(self) -> None:
        """Release everything, after the last answer."""


def contain(identify: Identify | None) -> Identify | None:
    """Return a function that knows nobody where `identify` fails by a fault of its own."""
    if identify is None:
        return None

    async def find(headers: Headers, address: Client) -> Client | None:
        try:
            return await identify(headers, address)
        except PlateError:
            raise
        except Exception:
            logger.exception("callers cannot be identified by the extension")
            return None

    return find


OpenExtension = Callable[[], Extension]
"""Opens an extension in a thread. It may block and fail; then it is called again."""
