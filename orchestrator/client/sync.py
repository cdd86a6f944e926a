"""A client that speaks pictures and plates instead of tensors."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from opentelemetry import propagate, trace

from orchestrator.client.faults import translate_errors
from orchestrator.client.pictures import Picture, load_picture
from orchestrator.client.transport import Call, Transport, connect
from orchestrator.contract import ALL_OUTPUTS, MODEL, Arrays, complete, from_arrays
from orchestrator.errors import (
    ModelError,
    ParameterError,
    PlateError,
    RequestError,
    ServerError,
    SettingsError,
)
from orchestrator.plates import Plates
from orchestrator.retries import Retries
from orchestrator.settings import Settings

READY_S = 5.0
"""Longest that `is_ready` takes: who asks wants to know now."""
LONGEST_S = 86_400.0
"""Longest timeout; a socket takes no more than 24 days."""

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
        self, url: str = "localhost:8000", *, timeout_s: float = 60.0, retries: int = 0
    ) -> None:
        """Prepare a client; it connects with the first call.

        Args:
            url: `host:port` or `http://host:port` for HTTP, `grpc://host:port` for gRPC.
            timeout_s: How long a call may take each time it is sent.
            retries: How often a call that met no server, or a full one, is sent again, after
                pauses of 0.1 s, doubling up to 2 s.

        Raises:
            ServerError: The URL is none of these.
            SettingsError: The timeout or the retries are no such number.
        """
        self._url = url
        self._timeout_s = _check_timeout(timeout_s)
        self._retries = Retries(retries)
        self._process = _Process(connect(url))
        self._is_closed = False
        self.retried = 0

    def recognize(
        self,
        picture: Picture,
        *,
        detection_threshold: float | None = None,
        text_threshold: float | None = None,
        max_plates: int | None = None,
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
            roi: Where to look, in picture pixels: x0, y0, x1, y1, or the text "x0,y0,x1,y1".
            outputs: Names of the model's outputs that are wanted: the server computes no others,
                and their part of a `Plate` stays empty. The boxes come in any case.
            request_id: Names the call in errors, in the server's log and in traces; a new one
                when empty.

        Raises:
            PictureError: There is no picture in `picture`.
            RequestError: The server cannot use the picture or a parameter, the message says why;
                or the client is closed.
            Overloaded: The server has no capacity now.
            ModelError: The server failed.
            ServerError: The server gives no answer in time, or none that is one.
        """
        given = {
            "detection_threshold": detection_threshold,
            "text_threshold": text_threshold,
            "max_plates": max_plates,
            "roi": None if roi is None else _roi_text(roi),
        }
        call = Call(
            picture=load_picture(picture),
            outputs=complete(outputs),
            parameters={name: _plain(name, v) for name, v in given.items() if v is not None},
            request_id=str(_plain("request_id", request_id)) or uuid.uuid4().hex,
        )
        return self._infer(call, lambda arrays: from_arrays(arrays, call.outputs))

    def _infer(self, call: Call, read: Callable[[Arrays], AnswerT]) -> AnswerT:
        """Send a call, again where that may help, and read its answer."""

        def send() -> AnswerT:
            with self._translate(call.request_id):
                return read(self._transport().infer(traced, self._timeout_s))

        with TRACER.start_as_current_span(
            f"infer {MODEL}",
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
            self._process = _Process(connect(self._url))
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


def _check_timeout(timeout_s: Any) -> float:
    if (
        not isinstance(timeout_s, (int, float, np.number))
        or isinstance(timeout_s, bool)
        or not 0 < timeout_s <= LONGEST_S
    ):
        raise SettingsError(
            f"timeout_s: wanted seconds above 0 and up to {LONGEST_S:g}, got {timeout_s!r}"
        )
    return float(timeout_s)


def _plain(name: str, value: Any) -> str | int | float | bool:
    """Return what both protocols can carry: NumPy's numbers as Python's, and text in UTF-8."""
    plain: Any = value.item() if isinstance(value, np.generic) else value
    is_text = isinstance(plain, str) and plain.isprintable()
    is_number = isinstance(plain, (int, float)) and name != "request_id"
    if not is_text and not is_number:
        wanted = "printable text" if name == "request_id" else "a number"
        raise ParameterError(f"{name}: wanted {wanted}, got {value!r}")
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        raise ParameterError(f"{name}: wanted a number of 64 bits, got {plain}")
    return plain  # type: ignore[no-any-return]


def _roi_text(roi: Any) -> str:
    """Write a region as the request parameter; a text is left to the server to judge."""
    if isinstance(roi, str):
        return roi
    try:
        x0, y0, x1, y1 = (format(float(side), ".10g") for side in roi)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f'roi: wanted four numbers or "x0,y0,x1,y1" in pixels, got {roi!r}'
        ) from error
    return f"{x0},{y0},{x1},{y1}"
