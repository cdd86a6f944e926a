"""The base class of both clients: all that they do, as coroutines without IO of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, NoReturn, TypeVar

from opentelemetry import propagate, trace

from orchestrator.client.channels import Channel, CustomChannel, Stream
from orchestrator.client.error_mapping import translate_errors, translate_output_errors
from orchestrator.client.inference import HttpResponse, InferenceRequest, OutgoingRequest
from orchestrator.client.parameters import check_in_flight, check_timeout
from orchestrator.client.picture_encoding import Picture, check_several
from orchestrator.client.requests import (
    FITTING,
    PictureRequest,
    PictureResult,
    fit,
    naming_crop,
    note_of,
    read_plate,
)
from orchestrator.client.transport import AsyncTransport, Transport
from orchestrator.contract import Arrays
from orchestrator.errors import ModelError, PlateError, RequestError, ServerError
from orchestrator.host.retry import Retries
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Settings

READY_S = 5.0
"""Longest timeout for a request about the server, seconds. Such callers want a quick answer."""

TRACER = trace.get_tracer("orchestrator")
"""Makes spans if the application has configured OpenTelemetry, and otherwise does nothing."""

AnswerT = TypeVar("AnswerT")
TransportT = TypeVar("TransportT", bound="Transport | AsyncTransport")


class BaseClient(ABC, Generic[TransportT]):
    """The base class of clients of one server.

    Its coroutines wait only for the channel and for pauses. `PlateClient` runs them in threads,
    over channels that block. `AsyncPlateClient` runs them in an event loop.

    Attributes:
        retried: Number of retries so far.
    """

    def __init__(
        self,
        url: str = "localhost:8000",
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 0,
        transport: TransportT | None = None,
    ) -> None:
        """Prepare a client. It connects at the first call.

        Args:
            url: `host:port` or `http://host:port` for HTTP, `grpc://host:port` for gRPC; with TLS
                `https://host:port` or `grpcs://host:port`. Certificates are checked against the
                authorities of the system, or of the file `SSL_CERT_FILE`.
            key: API key of the gateway for every call.
            timeout_s: Timeout of a call, each time it is sent.
            retries: Most retries of a call if the server is not available or full. The pauses are
                0.1 s, doubling up to 2 s, or longer if the server asks for it. If the server asks
                for more than `timeout_s`, the call is not retried and raises the error.
            transport: Transport that is used in place of a connection to `url`, like a
                `FakeTransport`. The client closes it.

        Raises:
            ServerError: The URL is none of these.
            SettingsError: The timeout, the retries, the key or the file of authorities is not
                valid.
        """
        self._url = url
        self._key = key
        self._custom = None if transport is None else CustomChannel(transport)
        self._timeout_s = check_timeout(timeout_s)
        self._retries = Retries(retries, patience_s=self._timeout_s, sleep=self._sleep)
        self._is_closed = False
        self.retried = 0
        self._prepare()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: connections belong to one process."""
        raise TypeError(f"{self._url}: a client cannot be pickled; make one in each process")

    _sleep: Callable[[float], Any]
    """Waits for a number of seconds."""

    @abstractmethod
    def _prepare(self) -> None:
        """Prepare the first call. Check the URL, the key and the authorities."""

    @abstractmethod
    def _channel(self) -> Channel:
        """Return the channel for a call.

        Raises:
            RequestError: The client is closed, or cannot be used here.
        """

    async def _make_request(
        self, options: PictureRequest, picture: Picture, request_id: str
    ) -> InferenceRequest:
        """Load a picture and return the request about it."""
        return options.about(picture, request_id)

    async def _recognize(
        self, options: PictureRequest, picture: Picture, request_id: str = ""
    ) -> Plates:
        request = await self._make_request(options, picture, request_id)
        plates = await self._infer(request, options.read)
        return replace(plates, note=note_of(request))

    async def _recognize_one(self, options: PictureRequest, picture: Picture) -> PictureResult:
        """Return the result of one picture of many. Errors are results, too."""
        try:
            return PictureResult(picture, await self._recognize(options, picture))
        except PlateError as error:
            return PictureResult(picture, error)

    def _check_many(
        self, pictures: Iterable[Picture] | AsyncIterable[Picture], in_flight: int | None
    ) -> int | None:
        """Check the arguments of `recognize_many`, and return the number of calls at once."""
        check_several("pictures", pictures)
        calls = None if in_flight is None else check_in_flight(in_flight)
        self._check_open()
        return calls

    async def _read_crop(self, numbered_request: tuple[int, InferenceRequest]) -> Plate:
        number, request = numbered_request
        with naming_crop(number):
            return await self._infer(request, lambda arrays: read_plate(arrays, request))

    async def _infer(
        self, request: InferenceRequest, to_answer: Callable[[Arrays], AnswerT]
    ) -> AnswerT:
        """Send a request, with retries if they may help, and read the outputs."""
        with self._tracing(request) as traced_request:

            async def send() -> AnswerT:
                with self._translating(request.request_id):
                    outputs = await self._channel().infer(traced_request, self._timeout_s)
                    with translate_output_errors(self._url, request.request_id):
                        return to_answer(outputs)

            return await self._retries.call_async(send, self._note_retry)

    async def _is_ready(self) -> bool:
        channel = self._channel()
        try:
            with self._translating():
                return await channel.is_ready(self._soon_s)
        except PlateError:
            return False

    async def _server_settings(self) -> Settings:
        return Settings.from_config((await self._config(self._timeout_s)).get("parameters", {}))

    async def _config(self, timeout_s: float) -> dict[str, Any]:
        with self._translating():
            return await self._channel().config(timeout_s)

    async def _call(
        self, request: OutgoingRequest, to_answer: Callable[[HttpResponse], AnswerT]
    ) -> AnswerT:
        """Send a request of another API of the server, with retries if they may help.

        This is for clients of that API, which derive from this class.

        Args:
            request: A request that has the same effect when it is sent twice.
            to_answer: Reads the answer. It raises a RejectedError for one without a result.
        """

        async def send() -> AnswerT:
            with self._translating():
                return to_answer(await self._channel().send(request, self._timeout_s))

        return await self._retries.call_async(send, self._note_retry)

    async def _open_stream(
        self, request: OutgoingRequest, check: Callable[[Stream, float], Awaitable[Stream]]
    ) -> Stream:
        """Open a stream of another API of the server, with retries if they may help.

        Args:
            request: The request for the stream.
            check: Returns the stream, or raises a RejectedError, within so many seconds.
        """

        async def send() -> Stream:
            with self._translating():
                stream = await self._channel().open_stream(request, self._timeout_s)
                return await check(stream, self._timeout_s)

        return await self._retries.call_async(send, self._note_retry)

    async def _fitting_calls(self) -> int:
        """Return how many calls at once fit the server."""
        try:
            return fit(await self._config(self._soon_s))
        except PlateError:  # the next call reports it
            return FITTING

    def _check_open(self) -> None:
        """Refuse a call of a closed client. The server is not the cause, and no retry helps."""
        if self._is_closed:
            raise RequestError(f"{self._url}: the client is closed")

    @property
    def _soon_s(self) -> float:
        """Timeout of a request about the server itself, seconds."""
        return min(self._timeout_s, READY_S)

    @contextmanager
    def _tracing(self, request: InferenceRequest) -> Iterator[InferenceRequest]:
        """Make a span of a call. Yield the request with trace headers for the server's spans."""
        with TRACER.start_as_current_span(
            f"infer {request.model}",
            kind=trace.SpanKind.CLIENT,
            attributes={"server.address": self._url, "triton.request_id": request.request_id},
        ):
            headers: dict[str, str] = {}
            propagate.inject(headers)
            yield replace(request, headers=headers)

    @contextmanager
    def _translating(self, request_id: str = "") -> Iterator[None]:
        try:
            with translate_errors(self._url, self._timeout_s, request_id):
                yield
        except (ModelError, ServerError, ValueError) as error:
            if self._is_closed:  # while the call was under way
                raise RequestError(f"{self._url}: the client is closed") from error
            raise

    def _note_retry(self, error: PlateError) -> None:
        self.retried += 1
        trace.get_current_span().add_event("retry", {"reason": str(error)})
