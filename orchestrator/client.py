"""A client that speaks pictures and plates instead of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from orchestrator.contract import ENCODED, MODEL, OUTPUTS, PICTURE, from_arrays
from orchestrator.errors import ModelError, Overloaded, PictureError, RequestError, ServerError
from orchestrator.plates import Plates
from orchestrator.settings import Roi

NO_ANSWER = ("connect", "socket", "transport", "dns")
"""Words of gRPC's UNAVAILABLE when nobody answered; else the server said it, being full."""

Picture = str | Path | bytes | npt.NDArray[np.uint8]


class PlateClient:
    """Calls `plate_recognition`, over HTTP or gRPC.

    Example:
        with PlateClient("localhost:8000") as client:
            print(client.recognize("car.jpg").to_dataframe())

    Not for several threads at once: give each its own client.
    """

    def __init__(self, url: str = "localhost:8000", *, timeout_s: float = 60.0) -> None:
        """Prepare a client; it connects with the first call.

        Args:
            url: `host:port` or `http://host:port` for HTTP, `grpc://host:port` for gRPC.
            timeout_s: How long a call may take.
        """
        scheme, _, address = url.rpartition("://")
        if scheme not in {"", "http", "grpc"} or not address:
            raise ServerError(f"url: wanted host:port, http://... or grpc://..., got {url}")
        self._url = url
        self._timeout_s = timeout_s
        self._triton: Any
        if scheme == "grpc":
            self._triton = tritonclient.grpc
            self._client = tritonclient.grpc.InferenceServerClient(address)
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
    ) -> Plates:
        """Find and read every plate of a picture.

        Args:
            picture: Path or bytes of a JPEG, PNG, WebP or BMP file, or uint8 [H, W, 3] BGR.
            detection_threshold: Least detection score, in [0, 1]; the server's when None.
            text_threshold: Least text score of a text that is shown, in [0, 1].
            max_plates: Most plates; the surest stay.
            roi: Where to look: x0, y0, x1, y1 in picture pixels.

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
        outputs = [self._triton.InferRequestedOutput(name) for name in OUTPUTS]
        with self._plain_errors():
            answer = self._client.infer(
                MODEL,
                [self._input(picture)],
                outputs=outputs,
                parameters={k: v for k, v in parameters.items() if v is not None} or None,
                **self._deadline,
            )
        return from_arrays({name: answer.as_numpy(name) for name in OUTPUTS})

    def is_ready(self) -> bool:
        """Tell whether the server answers and has the model."""
        try:
            return bool(self._client.is_server_ready() and self._client.is_model_ready(MODEL))
        except (InferenceServerException, OSError):
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
    def _plain_errors(self) -> Iterator[None]:
        """Translate tritonclient's errors into ours; the only place that does."""
        try:
            yield
        except InferenceServerException as error:
            raise _error_of(error, self._url) from error
        except OSError as error:
            raise ServerError(f"{self._url}: wanted an answer, got {error}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PictureError(f"{path}: wanted a readable file, got {error.strerror}") from error


def _error_of(error: InferenceServerException, url: str) -> Exception:
    status, message = str(error.status() or ""), error.message()
    if status in {"400", "StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND", "404"}:
        return RequestError(message)
    unheard = any(word in message.lower() for word in NO_ANSWER)
    if status in {"503", "StatusCode.RESOURCE_EXHAUSTED"} or (
        status == "StatusCode.UNAVAILABLE" and not unheard
    ):
        return Overloaded(message)
    if status in {"StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED", "499"}:
        return ServerError(f"{url}: wanted an answer, got {message}")
    return ModelError(f"{url}: {message}")
