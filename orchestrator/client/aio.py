"""The client for asyncio: `PlateClient` with `await`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from contextlib import aclosing, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.client.base import BaseClient
from orchestrator.client.channels import Channel
from orchestrator.client.connecting import check_aiohttp, connect_async
from orchestrator.client.inference import InferenceRequest
from orchestrator.client.ordered_results import work_in_order_async
from orchestrator.client.parameters import check_in_flight, to_parameters
from orchestrator.client.picture_encoding import Picture
from orchestrator.client.requests import PictureRequest, PictureResult, make_crop_requests
from orchestrator.client.server_address import make_headers, parse_address
from orchestrator.client.transport import AsyncTransport, Transport
from orchestrator.errors import RequestError
from orchestrator.plates import Plates
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from orchestrator.client.requests import RequestOptions


class AsyncPlateClient(BaseClient[AsyncTransport | Transport]):
    """Calls `plate_recognition` from asyncio, over HTTP (by aiohttp) or gRPC.

    Example:
        ```python
        async with AsyncPlateClient("localhost:8000") as client:
            plates = await client.recognize("car.jpg")
        ```

    Any number of tasks may use it at once. Cancelling a task ends only its own call, also on the
    server. Reading files, converting and decoding run in a thread; all other work runs in the event
    loop. A client belongs to the event loop of its first call. In another event loop its calls
    raise a RequestError.

    Attributes:
        retried: Number of retries so far.
    """

    _sleep = staticmethod(asyncio.sleep)

    def _prepare(self) -> None:
        self._home: tuple[asyncio.AbstractEventLoop, Channel] | None = None
        if self._custom is not None:
            return
        make_headers(self._key)
        if parse_address(self._url).protocol == "http":
            check_aiohttp()

    async def recognize(
        self, picture: Picture, *, request_id: str = "", **options: Unpack[RequestOptions]
    ) -> Plates:
        """Find and read every plate of a picture, like `PlateClient.recognize`."""
        return await self._recognize(PictureRequest.of(**options), picture, request_id)

    async def _make_request(
        self, options: PictureRequest, picture: Picture, request_id: str
    ) -> InferenceRequest:
        if isinstance(picture, (bytes, np.ndarray)):  # nothing to read or convert
            return options.about(picture, request_id)
        return await asyncio.to_thread(options.about, picture, request_id)

    def recognize_many(
        self,
        pictures: Iterable[Picture] | AsyncIterable[Picture],
        *,
        in_flight: int | None = None,
        **arguments: Unpack[RequestOptions],
    ) -> AsyncGenerator[PictureResult, None]:
        """Find and read the plates of many pictures, like `PlateClient.recognize_many`.

        Put `contextlib.aclosing` around the iterator. If the loop over it ends early, the running
        calls are then cancelled.

        Args:
            pictures: Pictures. An asynchronous iterable does not block the event loop while it
                waits.
            in_flight: Calls at once.
            arguments: The parameters of `recognize`, except `request_id`.
        """
        options = PictureRequest.of(**arguments)
        at_once = self._check_many(pictures, in_flight)

        def recognize_one(picture: Picture) -> Awaitable[PictureResult]:
            return self._recognize_one(options, picture)

        async def begin() -> AsyncGenerator[PictureResult, None]:
            width = at_once or await self._fitting_calls()
            async with aclosing(work_in_order_async(recognize_one, pictures, width)) as results:
                async for result in results:
                    yield result

        return begin()

    async def read_crops(
        self,
        crops: Iterable[Picture],
        *,
        text_threshold: float | None = None,
        in_flight: int = 4,
    ) -> Plates:
        """Read plates from crops of them, like `PlateClient.read_crops`."""
        parameters = to_parameters({"text_threshold": text_threshold})
        requests = await asyncio.to_thread(make_crop_requests, crops, parameters)
        width = check_in_flight(in_flight)
        async with aclosing(
            work_in_order_async(self._read_crop, enumerate(requests), width)
        ) as plates:
            return Plates(tuple([plate async for plate in plates]))

    async def is_ready(self) -> bool:
        """Tell within five seconds whether the server answers and has the model.

        Raises:
            RequestError: The client is closed, or belongs to another event loop.
        """
        return await self._is_ready()

    async def server_settings(self) -> Settings:
        """Return the operator's settings, like `PlateClient.server_settings`."""
        return await self._server_settings()

    async def close(self) -> None:
        """Close the connections. Later calls raise errors."""
        channel = self._custom if self._home is None else self._channel_here(self._home)
        self._is_closed = True
        if channel is not None:
            await channel.close()

    async def __aenter__(self) -> AsyncPlateClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _channel(self) -> Channel:
        """Return the channel of this event loop."""
        self._check_open()
        if self._home is None:
            channel = self._custom or connect_async(self._url, self._key)
            self._home = asyncio.get_running_loop(), channel
        return self._channel_here(self._home)

    def _channel_here(self, home: tuple[asyncio.AbstractEventLoop, Channel]) -> Channel:
        loop, channel = home
        if loop is not asyncio.get_running_loop():
            raise RequestError(
                f"{self._url}: this client belongs to another event loop, that of its first call; "
                "make a client in each"
            )
        return channel

    @contextmanager
    def _translating(self, request_id: str = "") -> Iterator[None]:
        """Translate errors. If the client was closed, gRPC reports that the call was cancelled."""
        try:
            with super()._translating(request_id):
                yield
        except asyncio.CancelledError as error:
            if self._is_closed and not _is_cancelled():
                raise RequestError(f"{self._url}: the client is closed") from error
            raise


def _is_cancelled() -> bool:
    """Tell whether this task was cancelled. Python 3.10 does not know; the answer there is no."""
    cancelling: Callable[[], int] = getattr(asyncio.current_task(), "cancelling", int)
    return cancelling() > 0
