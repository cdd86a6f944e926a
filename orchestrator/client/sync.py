"""The client for threads: it takes pictures and returns plates, instead of tensors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from orchestrator.client.base import BaseClient
from orchestrator.client.crop_requests import crop_calls, naming_crop, read_answer
from orchestrator.client.ordered_results import work_in_order
from orchestrator.client.parameters import check_in_flight, to_parameters
from orchestrator.client.picture_encoding import Picture, check_several
from orchestrator.client.requests import FITTING, PictureRequest, PictureResult, fit
from orchestrator.client.transport import InferenceRequest, Transport, connect
from orchestrator.contract import ALL_OUTPUTS, Arrays
from orchestrator.errors import PlateError
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from orchestrator.client.requests import RequestOptions

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class _Process:
    """The state of a client in one process. A forked child needs its own."""

    transport: Transport
    pid: int = field(default_factory=os.getpid)
    counting: threading.Lock = field(default_factory=threading.Lock)


class PlateClient(BaseClient):
    """Calls `plate_recognition`, over HTTP or gRPC.

    Example:
        ```python
        with PlateClient("localhost:8000") as client:
            print(client.recognize("car.jpg").to_dataframe())
        ```

    One client serves any number of threads, also those of `asyncio.to_thread`. Each call uses an
    idle connection or makes a new one. No call uses a proxy. A call ends within `timeout_s` each
    time it is sent, even if the server never answers.

    A client may be created and used before a fork. It then works in the parent and in the child.
    The exception is gRPC: a fork during a gRPC call of another thread breaks gRPC in the child.
    The child's calls over gRPC then raise a RequestError.

    Attributes:
        retried: Number of retries so far.
    """

    def _prepare(self) -> None:
        self._process = _Process(connect(self._url, self._key))

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

        The call is a span of OpenTelemetry. The server's spans are its children.

        Args:
            picture: Path, bytes or binary file object of a JPEG, PNG, WebP or BMP file. Or uint8
                [H, W, 3] BGR as array or tensor. Or a PIL picture.
            detection_threshold: Least detection score, in [0, 1]. If None, the server's setting.
            text_threshold: Least text score of a text that is shown, in [0, 1].
            max_plates: Most plates. Those with the highest scores are kept.
            detector_side_px: Longest side of the detector's input, a multiple of 32. A larger input
                finds smaller plates, but takes longer.
            roi: Region to search, in picture pixels: x0, y0, x1, y1, or the text "x0,y0,x1,y1".
            outputs: Names of the wanted outputs of the model. The server computes no others, and
                their parts of a `Plate` stay empty. The boxes always come.
            request_id: Id of the call in errors, in the server's log and in traces. If empty, a
                new one.

        Raises:
            PictureError: `picture` holds no picture, or the server cannot use it. The message says
                why.
            RequestError: The server cannot use a parameter or the key, or the client is closed.
                The message says why.
            Overloaded: The server has no capacity now.
            ModelError: The server failed.
            ServerError: The server gives no answer in time, or no valid answer.
        """
        question = PictureRequest.of(
            detection_threshold=detection_threshold,
            text_threshold=text_threshold,
            max_plates=max_plates,
            detector_side_px=detector_side_px,
            roi=roi,
            outputs=outputs,
        )
        return self._infer(question.about(picture, request_id), question.read)

    def recognize_many(
        self,
        pictures: Iterable[Picture],
        *,
        in_flight: int | None = None,
        **wanted: Unpack[RequestOptions],
    ) -> Generator[PictureResult, None, None]:
        """Find and read the plates of many pictures, several at once.

        A picture is taken only if there is room. At most twice `in_flight` pictures are ahead of
        the results that the caller has taken. A ready result is given out after the next picture
        was taken. So a camera's result comes one frame later.

        Args:
            pictures: Pictures in any form that `recognize` takes. There may be infinitely many.
            in_flight: Calls at once. If None, twice the server's number of pictures in work. The
                client asks for that number; without an answer it makes 4 calls at once.
            wanted: The parameters of `recognize`, except `request_id`.

        Returns:
            The result of each picture, in their order. A picture that fails does not affect others.

        Raises:
            ParameterError: A parameter cannot be sent, or `in_flight` is not a valid number.
            PictureError: `pictures` is a single picture.
            RequestError: The client is closed.
        """
        question = PictureRequest.of(**wanted)
        check_several("pictures", pictures)
        width = None if in_flight is None else check_in_flight(in_flight)
        self._check_open()

        def recognize_one(picture: Picture) -> PictureResult:
            try:
                return PictureResult(picture, self._infer(question.about(picture), question.read))
            except PlateError as error:
                return PictureResult(picture, error)

        def begin() -> Generator[PictureResult, None, None]:
            yield from work_in_order(recognize_one, pictures, width or self._ask_width())

        return begin()

    def read_crops(
        self,
        crops: Iterable[Picture],
        *,
        text_threshold: float | None = None,
        in_flight: int = 4,
    ) -> Plates:
        """Read plates from crops, for plates that the caller has already found.

        Each crop is a call of the ensemble `plate_reader`. A crop should show one plate. Its margin
        at each side should be 5 to 20 % of the plate's width and height. The service's own crops
        are best. Their margins are 8 % at the left and right, and 25 % above and below.

        Args:
            crops: Crops in any form that `recognize` takes. OpenCV decodes files on the client.
            text_threshold: Least text score of a text that is shown, in [0, 1].
            in_flight: Calls at once. The server makes batches of them.

        Returns:
            A `Plate` for each crop, in their order. Its box is the whole crop. It has no detection
            score and no corners.

        Raises:
            PictureError: A crop holds no picture, and nothing was sent; or the server cannot use a
                crop.
            ParameterError: A parameter cannot be sent, or `in_flight` is not a valid number.
            PlateError: A call failed, as in `recognize`. The message names the crop.
        """
        calls = crop_calls(crops, to_parameters({"text_threshold": text_threshold}))
        width = check_in_flight(in_flight)
        return Plates(tuple(work_in_order(self._read_crop, enumerate(calls), width)))

    def _read_crop(self, numbered: tuple[int, InferenceRequest]) -> Plate:
        number, call = numbered
        with naming_crop(number):
            return self._infer(call, lambda arrays: read_answer(arrays, call))

    def _infer(self, call: InferenceRequest, read: Callable[[Arrays], AnswerT]) -> AnswerT:
        """Send a call, with retries if they may help, and read its answer."""
        with self._tracing(call) as traced:

            def send() -> AnswerT:
                with self._translating(call.request_id):
                    return read(self._transport().infer(traced, self._timeout_s))

            return self._retries.call(send, self._note_retry)

    def _note_retry(self, error: PlateError) -> None:
        with self._process.counting:
            super()._note_retry(error)

    def is_ready(self) -> bool:
        """Tell within five seconds whether the server answers and has the model.

        Raises:
            RequestError: The client is closed.
        """
        transport = self._transport()
        try:
            with self._translating():
                return transport.is_ready(self._soon_s)
        except PlateError:
            return False

    def server_settings(self) -> Settings:
        """Return the operator's settings. The parameters of a call override them.

        Raises:
            RequestError: The server has no such model, or the client is closed.
            SettingsError: The settings are from another version of the service.
            ServerError: The server gives no answer in time, or no valid answer.
        """
        return Settings.from_config(self._config(self._timeout_s).get("parameters", {}))

    def _config(self, timeout_s: float) -> dict[str, Any]:
        with self._translating():
            return self._transport().config(timeout_s)

    def _ask_width(self) -> int:
        """Return how many calls at once fit the server."""
        try:
            return fit(self._config(self._soon_s))
        except PlateError:  # the next call reports it
            return FITTING

    def close(self) -> None:
        """Close the connections. Later calls raise errors."""
        self._is_closed = True
        if self._process.pid == os.getpid():  # else the connections belong to the parent
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
        """Return the transport of this process.

        Raises:
            RequestError: The client is closed. The server is not the cause, and no retry helps.
        """
        self._check_open()
        if self._process.pid != os.getpid():
            # This is a forked child. The parent continues to use its own connections. Two threads
            # may both come here; one of the two transports then serves only one call.
            self._process = _Process(connect(self._url, self._key))
        return self._process.transport
