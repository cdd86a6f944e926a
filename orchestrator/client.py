"""A client that speaks pictures and plates instead of tensors."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import tritonclient.grpc
import tritonclient.http
from opentelemetry import propagate, trace
from tritonclient.utils import InferenceServerException

from orchestrator.contract import ENCODED, MODEL, OUTPUTS, PICTURE, Arrays, from_arrays
from orchestrator.errors import (
    ModelError,
    Overloaded,
    PictureError,
    PlateError,
    RequestError,
    ServerError,
)
from orchestrator.plates import Plates
from orchestrator.retries import Retries
from orchestrator.settings import Roi

NO_ANSWER = ("connect", "socket", "transport", "dns")
"""Words of gRPC's UNAVAILABLE when nobody answered; else the server said it, being full."""
DYING = ("is not healthy", "server not ready", "no available versions", "rst_stream")
"""Words of a server that lost a worker or is stopping, and of a balancer that lost the server while
it was at work. Whatever error they come as, another server would have answered."""
GIVEN_UP = {"408", "499", "502", "504", "StatusCode.DEADLINE_EXCEEDED"}
"""What a balancer answers in place of a server that did not, and what the client itself says."""
REFUSED = {"400", "404", "StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND"}
FULL = {"429", "503", "StatusCode.RESOURCE_EXHAUSTED", "StatusCode.UNAVAILABLE"}

GRPC_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # Where a name has several addresses each call goes to the next, not all to the first.
    ("grpc.lb_policy_name", "round_robin"),
]

TRACER = trace.get_tracer("orchestrator")
"""Makes spans where the application has set OpenTelemetry up, nothing where it has not."""

Picture = str | Path | bytes | npt.NDArray[np.uint8]


class PlateClient:
    """Calls `plate_recognition`, over HTTP or gRPC.

    Example:
        with PlateClient("localhost:8000") as client:
            print(client.recognize("car.jpg").to_dataframe())

    Not for several threads at once: give each its own client.

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
        """
        scheme, _, address = url.rpartition("://")
        if scheme not in {"", "http", "grpc"} or not address:
            raise ServerError(f"url: wanted host:port, http://... or grpc://..., got {url}")
        self._url = url
        self._retries = Retries(retries)
        self.retried = 0
        self._triton: Any
        if scheme == "grpc":
            self._triton = tritonclient.grpc
            self._client = tritonclient.grpc.InferenceServerClient(
                address, channel_args=GRPC_OPTIONS
            )
            self._deadline = {"client_timeout": timeout_s}
        else:
            self._triton = tritonclient.http
            self._client = tritonclient.http.InferenceServerClient(
                address, connection_timeout=timeout_s, network_timeout=timeout_s
            )
            self._deadline = {}

    def recognize(
        self,
        picture: Picture,
        *,
        detection_threshold: float | None = None,
        text_threshold: float | None = None,
        max_plates: int | None = None,
        roi: Roi | None = None,
        request_id: str = "",
    ) -> Plates:
        """Find and read every plate of a picture.

        The call is a span of OpenTelemetry, and those of the server are its children.

        Args:
            picture: Path or bytes of a JPEG, PNG, WebP or BMP file, or uint8 [H, W, 3] BGR.
            detection_threshold: Least detection score, in [0, 1]; the server's when None.
            text_threshold: Least text score of a text that is shown, in [0, 1].
            max_plates: Most plates; the surest stay.
            roi: Where to look: x0, y0, x1, y1 in picture pixels.
            request_id: Names the call in errors, in the server's log and in traces; a new one
                when empty.

        Raises:
            RequestError: The server cannot use the picture or a parameter; the message says why.
            Overloaded: The server has no capacity now.
            ModelError: The server failed.
            ServerError: The server cannot be reached in time.
        """
        parameters = {
            "detection_threshold": detection_threshold,
            "text_threshold": text_threshold,
            "max_plates": max_plates,
            "roi": None if roi is None else ",".join(str(side) for side in roi),
        }
        tensor = self._input(picture)
        given = {name: value for name, value in parameters.items() if value is not None}
        return from_arrays(self._infer(tensor, given, request_id or uuid.uuid4().hex))

    def _infer(self, tensor: Any, parameters: dict[str, Any], request_id: str) -> Arrays:
        outputs = [self._triton.InferRequestedOutput(name) for name in OUTPUTS]

        def send() -> Any:
            with self._plain_errors(request_id):
                return self._client.infer(
                    MODEL,
                    [tensor],
                    outputs=outputs,
                    request_id=request_id,
                    parameters=parameters or None,
                    headers=_trace_context(),
                    **self._deadline,
                )

        with TRACER.start_as_current_span(
            f"infer {MODEL}",
            kind=trace.SpanKind.CLIENT,
            attributes={"server.address": self._url, "triton.request_id": request_id},
        ):
            answer = self._retries.call(send, self._note_retry)
        return {name: answer.as_numpy(name) for name in OUTPUTS}

    def _note_retry(self, error: PlateError) -> None:
        self.retried += 1
        trace.get_current_span().add_event("retry", {"reason": str(error)})

    def is_ready(self) -> bool:
        """Tell whether the server answers and has the model."""
        try:
            return bool(self._client.is_server_ready() and self._client.is_model_ready(MODEL))
        except (InferenceServerException, OSError, HTTPException):
            return False

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> PlateClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _input(self, picture: Picture) -> Any:
        if isinstance(picture, np.ndarray):
            tensor = self._triton.InferInput(PICTURE, list(picture.shape), "UINT8")
            if picture.dtype != np.uint8:
                raise PictureError(f"picture: wanted uint8 [H, W, 3], got {picture.dtype}")
            return tensor.set_data_from_numpy(np.ascontiguousarray(picture))
        tensor = self._triton.InferInput(ENCODED, [1], "BYTES")
        encoded = picture if isinstance(picture, bytes) else _read(Path(picture))
        return tensor.set_data_from_numpy(np.array([encoded], dtype=np.object_))

    @contextmanager
    def _plain_errors(self, request_id: str = "") -> Iterator[None]:
        """Translate tritonclient's errors into ours; the only place that does."""
        named = f" (request {request_id})" if request_id else ""
        try:
            yield
        except InferenceServerException as error:
            kind, message = _error_of(error, self._url)
            message = message.replace(f"[request id: {request_id}] ", "")  # Triton's, sometimes
            raise kind(f"{message}{named}") from error
        except (OSError, HTTPException) as error:  # the latter: half an answer, or none
            raise ServerError(f"{self._url}: wanted an answer, got {error}{named}") from error


def _trace_context() -> dict[str, str]:
    """Return the headers that make the server's spans children of the current one."""
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PictureError(f"{path}: wanted a readable file, got {error.strerror}") from error


def _error_of(error: InferenceServerException, url: str) -> tuple[type[PlateError], str]:
    status, message = str(error.status() or ""), error.message()
    if "\nresponse: <" in message:  # a balancer's page, which tritonclient cannot read
        message = f"HTTP {status}"
    words = message.lower()
    is_unheard = status == "StatusCode.UNAVAILABLE" and any(word in words for word in NO_ANSWER)
    is_dying = any(word in words for word in DYING)
    if is_unheard or is_dying or status in GIVEN_UP:
        return ServerError, f"{url}: wanted an answer, got {message}"
    if status in REFUSED:
        return RequestError, message
    if status in FULL:
        return Overloaded, message
    return ModelError, f"{url}: {message}"
