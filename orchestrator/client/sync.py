"""A client that speaks pictures and plates instead of tensors."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TypeVar

from opentelemetry import propagate, trace

from orchestrator.client.crops import crop_calls, naming_crop, read_answer
from orchestrator.client.faults import translate_errors
from orchestrator.client.parameters import (
    check_in_flight,
    check_timeout,
    make_plain,
    to_parameters,
    write_roi,
)
from orchestrator.client.pictures import Picture, load_picture
from orchestrator.client.transport import Call, Transport, connect, to_input
from orchestrator.contract import ALL_OUTPUTS, Arrays, complete, from_arrays
from orchestrator.errors import ModelError, PlateError, RequestError, ServerError
from orchestrator.plates import Plate, Plates
from orchestrator.retries import Retries
from orchestrator.settings import Settings

READY_S = 5.0
"""Longest that `is_ready` takes: who asks wants to know now."""

TRACER = trace.get_tracer("orchestrator")
"""Makes spans where the application has set OpenTelemetry up, nothing where it has not."""

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class _Process:
    """What a client has in one process: a forked child must have its own."""

    transport: Transport
    pid: int = field(default_factory=os.getpid)
    counting: threading.Lock = field(default_factory=threading.Lock)


class PlateClient:
    """Calls `plate_recognition`, over HTTP or gRPC.

    Example:
        with PlateClient("localhost:8000") as client:
            print(client.recognize("car.jpg").to_dataframe())

    One client serves any number of threads, `asyncio.to_thread` included: each call takes an idle
    connection or makes one. No call goes through a proxy. A call ends within `timeout_s` each time
    it is sent, whatever the server does.

    A client may be made and used before a fork, and serves the parent and the child. Only gRPC
    does not survive a fork in the midst of a call: where another thread is calling over gRPC
    meanwhile, the child's calls over gRPC are a RequestError.

    Attributes:
        retried: How many calls were sent again so far.
    """

    def __init__(
        self,
        url: str = "localhost:8000",
        *,
        key: str | None = None,
        timeout_s: float = 60.0,
        retries: int = 0,
    ) -> None:
        """Prepare a client; it connects with the first call.

        Args:
            url: `host:port` or `http://host:port` for HTTP, `grpc://host:port` for gRPC; with TLS
                `https://host:port` or `grpcs://host:port`. Certificates are checked by the
                system's authorities, or by those of the file that `SSL_CERT_FILE` names.
            key: API key of the gateway; goes along with every call.
            timeout_s: How long a call may take each time it is sent.
            retries: How often a call that met no server, or a full one, is sent again, after
                pauses of 0.1 s, doubling up to 2 s.

        Raises:
            ServerError: The URL is none of these.
            SettingsError: The timeout or the retries are no such number, the key can be none, or
                the file of authorities is none.
        """
        self._url = url
        self._key = key
        self._timeout_s = check_timeout(timeout_s)
        self._retries = Retries(retries)
        self._process = _Process(connect(url, key))
        self._is_closed = False
        self.retried = 0

    def recognize(
        self,
        picture: Picture,
        *,
        detection_threshold: float | None = None,
        text_threshold: float | None = None,
        max_plates: int | None = None,
        detector_side_px: int | None = None,
        roi: str | Sequence[float] | None = None,
        outputs: Collection[str] = ALL_OUTPUTS,
        request_id: str = "",
    ) -> Plates:
        """Find and read every plate of a picture.

        The call is a span of OpenTelemetry, and those of the server are its children.

        Args:
            picture: Path, bytes or binary file object of a JPEG, PNG, WebP or BMP file; uint8
                [H, W, 3] BGR as array or tensor; or a PIL picture.
            detection_threshold: Least detection score, in [0, 1]; the server's when None.
            text_threshold: Least text score of a text that is shown, in [0, 1].
            max_plates: Most plates; the surest stay.
            detector_side_px: Longest side of the detector's input, a multiple of 32: larger finds
                smaller plates, and takes longer.
            roi: Where to look, in picture pixels: x0, y0, x1, y1, or the text "x0,y0,x1,y1".
            outputs: Names of the model's outputs that are wanted: the server computes no others,
                and their part of a `Plate` stays empty. The boxes come in any case.
            request_id: Names the call in errors, in the server's log and in traces; a new one
                when empty.

        Raises:
            PictureError: There is no picture in `picture`.
            RequestError: The server cannot use the picture, a parameter or the key, the message
                says why; or the client is closed.
            Overloaded: The server has no capacity now.
            ModelError: The server failed.
            ServerError: The server gives no answer in time, or none that is one.
        """
        given = {
            "detection_threshold": detection_threshold,
            "text_threshold": text_threshold,
            "max_plates": max_plates,
            "detector_side_px": detector_side_px,
            "roi": None if roi is None else write_roi(roi),
        }
        call = Call(
            inputs=to_input(load_picture(picture)),
            outputs=complete(outputs),
            parameters=to_parameters(given),
            request_id=str(make_plain("request_id", request_id)) or uuid.uuid4().hex,
        )
        return self._infer(call, lambda arrays: from_arrays(arrays, call.outputs))

    def read_crops(
        self,
        crops: Iterable[Picture],
        *,
        text_threshold: float | None = None,
        in_flight: int = 4,
    ) -> Plates:
        """Read plates that were found by other means, from crops of them.

        Each crop is a call of the ensemble `plate_reader`. It should show one plate and around it
        5 to 20 % of its width and height at each side; best is what the service itself cuts out,
        8 % at the left and right and 25 % above and below.

        Args:
            crops: Each as `recognize` takes a picture. OpenCV unpacks files here, on the client.
            text_threshold: Least text score of a text that is shown, in [0, 1].
            in_flight: Calls at once; the server makes batches of them.

        Returns:
            A `Plate` for each crop, in their order. Its box is the whole crop, and it has no
            detection score and no corners.

        Raises:
            PictureError: There is no picture in a crop; nothing was sent.
            ParameterError: A parameter is none that can be sent, or `in_flight` is no such number.
            PlateError: A call failed as those of `recognize` do; the message says of which crop.
        """
        calls = crop_calls(crops, to_parameters({"text_threshold": text_threshold}))
        contexts = [copy_context() for _ in calls]  # spans stay children of the caller's
        with ThreadPoolExecutor(check_in_flight(in_flight)) as pool:
            read = [
                pool.submit(context.run, self._read_crop, number, call)
                for number, (context, call) in enumerate(zip(contexts, calls, strict=True))
            ]
            return Plates(tuple(one.result() for one in read))

    def _read_crop(self, number: int, call: Call) -> Plate:
        with naming_crop(number):
            return self._infer(call, lambda arrays: read_answer(arrays, call))

    def _infer(self, call: Call, read: Callable[[Arrays], AnswerT]) -> AnswerT:
        """Send a call, again where that may help, and read its answer."""

        def send() -> AnswerT:
            with self._translate(call.request_id):
                return read(self._transport().infer(traced, self._timeout_s))

        with TRACER.start_as_current_span(
            f"infer {call.model}",
            kind=trace.SpanKind.CLIENT,
            attributes={"server.address": self._url, "triton.request_id": call.request_id},
        ):
            traced = replace(call, headers=_trace_context())
            return self._retries.call(send, self._note_retry)

    def _note_retry(self, error: PlateError) -> None:
        with self._process.counting:
            self.retried += 1
        trace.get_current_span().add_event("retry", {"reason": str(error)})

    def is_ready(self) -> bool:
        """Tell within five seconds whether the server answers and has the model.

        Raises:
            RequestError: The client is closed.
        """
        transport = self._transport()
        try:
            with self._translate():
                return transport.is_ready(min(self._timeout_s, READY_S))
        except PlateError:
            return False

    def server_settings(self) -> Settings:
        """Return the operator's settings, which a call's parameters override.

        Raises:
            RequestError: The server has no such model, or the client is closed.
            SettingsError: They are those of another version of the service.
            ServerError: The server gives no answer in time, or none that is one.
        """
        with self._translate():
            config = self._transport().config(self._timeout_s)
        return Settings.from_config(config.get("parameters", {}))

    def close(self) -> None:
        """Close the connections; calls afterwards are errors."""
        self._is_closed = True
        if self._process.pid == os.getpid():  # else they are the parent's
            self._process.transport.close()

    def __enter__(self) -> PlateClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _transport(self) -> Transport:
        """Return this process's own way to the server.

        Raises:
            RequestError: The client is closed: no fault of the server's, and no retry helps.
        """
        if self._is_closed:
            raise RequestError(f"{self._url}: the client is closed")
        if self._process.pid != os.getpid():
            # We are a forked child, and our parent goes on using its connections. Two threads
            # may both come here; one of the two ways is then used for one call alone.
            self._process = _Process(connect(self._url, self._key))
        return self._process.transport

    @contextmanager
    def _translate(self, request_id: str = "") -> Iterator[None]:
        try:
            with translate_errors(self._url, self._timeout_s, request_id):
                yield
        except (ModelError, ServerError, ValueError) as error:
            if self._is_closed:  # while the call was under way
                raise RequestError(f"{self._url}: the client is closed") from error
            raise


def _trace_context() -> dict[str, str]:
    """Return the headers that make the server's spans children of the current one."""
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers
