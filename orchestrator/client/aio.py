"""The client for asyncio: `PlateClient` with `await`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import aclosing, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from orchestrator.client.addresses import make_headers, parse_address
from orchestrator.client.aio_transport import AioTransport, check_aiohttp, connect
from orchestrator.client.base import BaseClient
from orchestrator.client.crop_requests import crop_calls, naming_crop, read_answer
from orchestrator.client.inference import InferenceRequest
from orchestrator.client.ordered_results import work_in_order_async
from orchestrator.client.parameters import check_in_flight, to_parameters
from orchestrator.client.picture_encoding import Picture, check_several
from orchestrator.client.requests import FITTING, PictureRequest, PictureResult, fit
from orchestrator.contract import Arrays
from orchestrator.errors import PlateError, RequestError
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from orchestrator.client.requests import RequestOptions

AnswerT = TypeVar("AnswerT")


class AsyncPlateClient(BaseClient):
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

    def _prepare(self) -> None:
        self._home: tuple[asyncio.AbstractEventLoop, AioTransport] | None = None
        make_headers(self._key)
        if parse_address(self._url).protocol == "http":
            check_aiohttp()

    async def recognize(
        self, picture: Picture, *, request_id: str = "", **wanted: Unpack[RequestOptions]
    ) -> Plates:
        """Find and read every plate of a picture, like `PlateClient.recognize`."""
        question = PictureRequest.of(**wanted)
        return await self._recognize(question, picture, request_id)

    async def _recognize(
        self, question: PictureRequest, picture: Picture, request_id: str = ""
    ) -> Plates:
        if isinstance(picture, (bytes, np.ndarray)):  # nothing to read or convert
            call = question.about(picture, request_id)
        else:
            call = await asyncio.to_thread(question.about, picture, request_id)
        return await self._infer(call, question.read)

    def recognize_many(
        self,
        pictures: Iterable[Picture] | AsyncIterable[Picture],
        *,
        in_flight: int | None = None,
        **wanted: Unpack[RequestOptions],
    ) -> AsyncGenerator[PictureResult, None]:
        """Find and read the plates of many pictures, like `PlateClient.recognize_many`.

        Put `contextlib.aclosing` around the iterator. If the loop over it ends early, the running
        calls are then cancelled.

        Args:
            pictures: Pictures. An asynchronous iterable does not block the event loop while it
                waits.
            in_flight: Calls at once.
            wanted: The parameters of `recognize`, except `request_id`.
        """
        question = PictureRequest.of(**wanted)
        check_several("pictures", pictures)
        width = None if in_flight is None else check_in_flight(in_flight)
        self._check_open()

        async def recognize_one(picture: Picture) -> PictureResult:
            try:
                return PictureResult(picture, await self._recognize(question, picture))
            except PlateError as error:
                return PictureResult(picture, error)

        async def begin() -> AsyncGenerator[PictureResult, None]:
            at_once = width or await self._ask_width()
            async with aclosing(work_in_order_async(recognize_one, pictures, at_once)) as found:
                async for one in found:
                    yield one

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
        calls = await asyncio.to_thread(crop_calls, crops, parameters)
        work = work_in_order_async(self._read_crop, enumerate(calls), check_in_flight(in_flight))
        async with aclosing(work) as plates:
            return Plates(tuple([plate async for plate in plates]))

    async def _read_crop(self, numbered: tuple[int, InferenceRequest]) -> Plate:
        number, call = numbered
        with naming_crop(number):
            return await self._infer(call, lambda arrays: read_answer(arrays, call))

    async def _infer(self, call: InferenceRequest, read: Callable[[Arrays], AnswerT]) -> AnswerT:
        """Send a call, with retries if they may help, and read its answer."""
        with self._tracing(call) as traced:

            async def send() -> AnswerT:
                with self._waiting(call.request_id):
                    return read(await self._transport().infer(traced, self._timeout_s))

            return await self._retries.call_async(send, self._note_retry)

    async def is_ready(self) -> bool:
        """Tell within five seconds whether the server answers and has the model.

        Raises:
            RequestError: The client is closed, or belongs to another event loop.
        """
        transport = self._transport()
        try:
            with self._waiting():
                return await transport.is_ready(self._soon_s)
        except PlateError:
            return False

    async def server_settings(self) -> Settings:
        """Return the operator's settings, like `PlateClient.server_settings`."""
        return Settings.from_config((await self._config(self._timeout_s)).get("parameters", {}))

    async def _config(self, timeout_s: float) -> dict[str, Any]:
        with self._waiting():
            return await self._transport().config(timeout_s)

    async def _ask_width(self) -> int:
        """Return how many calls at once fit the server."""
        try:
            return fit(await self._config(self._soon_s))
        except PlateError:  # the next call reports it
            return FITTING

    async def close(self) -> None:
        """Close the connections. Later calls raise errors."""
        transport = None if self._home is None else self._transport_here(self._home)
        self._is_closed = True
        if transport is not None:
            await transport.close()

    async def __aenter__(self) -> AsyncPlateClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _transport(self) -> AioTransport:
        """Return the transport of this event loop.

        Raises:
            RequestError: The client is closed, or belongs to another event loop.
        """
        self._check_open()
        if self._home is None:
            self._home = asyncio.get_running_loop(), connect(self._url, self._key)
        return self._transport_here(self._home)

    def _transport_here(self, home: tuple[asyncio.AbstractEventLoop, AioTransport]) -> AioTransport:
        loop, transport = home
        if loop is not asyncio.get_running_loop():
            raise RequestError(
                f"{self._url}: this client belongs to another event loop, that of its first call; "
                "make a client in each"
            )
        return transport

    @contextmanager
    def _waiting(self, request_id: str = "") -> Iterator[None]:
        """Translate errors. If the client was closed, gRPC reports that the call was cancelled."""
        try:
            with self._translating(request_id):
                yield
        except asyncio.CancelledError as error:
            if self._is_closed and not _is_cancelled():
                raise RequestError(f"{self._url}: the client is closed") from error
            raise


def _is_cancelled() -> bool:
    """Tell whether this task was cancelled. Python 3.10 does not know; the answer there is no."""
    cancelling: Callable[[], int] = getattr(asyncio.current_task(), "cancelling", int)
    return cancelling() > 0
