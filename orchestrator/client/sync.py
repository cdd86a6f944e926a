"""A client that speaks pictures and plates instead of tensors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from orchestrator.client.calling import Caller
from orchestrator.client.crops import crop_calls, naming_crop, read_answer
from orchestrator.client.ordered import work_in_order
from orchestrator.client.parameters import check_in_flight, to_parameters
from orchestrator.client.pictures import Picture, check_several
from orchestrator.client.questions import FITTING, PictureResult, Question, fit
from orchestrator.client.transport import Call, Transport, connect
from orchestrator.contract import ALL_OUTPUTS, Arrays
from orchestrator.errors import PlateError
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from orchestrator.client.questions import Wanted

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class _Process:
    """What a client has in one process: a forked child must have its own."""

    transport: Transport
    pid: int = field(default_factory=os.getpid)
    counting: threading.Lock = field(default_factory=threading.Lock)


class PlateClient(Caller):
    """Calls `plate_recognition`, over HTTP or gRPC.

    Example:
        ```python
        with PlateClient("localhost:8000") as client:
            print(client.recognize("car.jpg").to_dataframe())
        ```

    One client serves any number of threads, `asyncio.to_thread` included: each call takes an idle
    connection or makes one. No call goes through a proxy. A call ends within `timeout_s` each time
    it is sent, whatever the server does.

    A client may be made and used before a fork, and serves the parent and the child. Only gRPC
    does not survive a fork in the midst of a call: where another thread is calling over gRPC
    meanwhile, the child's calls over gRPC are a RequestError.

    Attributes:
        retried: How many calls were sent again so far.
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
            PictureError: There is no picture in `picture`, or the server cannot use it; the message
                says why.
            RequestError: The server cannot use a parameter or the key, the message says why; or
                the client is closed.
            Overloaded: The server has no capacity now.
            ModelError: The server failed.
            ServerError: The server gives no answer in time, or none that is one.
        """
        question = Question.of(
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
        **wanted: Unpack[Wanted],
    ) -> Generator[PictureResult, None, None]:
        """Find and read the plates of many pictures, several at once.

        Pictures are taken only as room comes, at most twice `in_flight` before the results that
        are still to be taken. A result that is there is given out when the next picture has been
        taken, so that a camera's comes one frame later.

        Args:
            pictures: Each as `recognize` takes it; may be endless.
            in_flight: Calls at once. When None twice as many as the server has in work, which it
                is asked for; 4 where it does not say.
            wanted: What `recognize` takes, but for `request_id`.

        Returns:
            What came of each picture, in their order: a picture that fails ends no other.

        Raises:
            ParameterError: A parameter is none that can be sent, or `in_flight` is no such number.
            PictureError: `pictures` is one picture.
            RequestError: The client is closed.
        """
        question = Question.of(**wanted)
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
            PictureError: There is no picture in a crop, and nothing was sent; or the server cannot
                use it.
            ParameterError: A parameter is none that can be sent, or `in_flight` is no such number.
            PlateError: A call failed as those of `recognize` do; the message says of which crop.
        """
        calls = crop_calls(crops, to_parameters({"text_threshold": text_threshold}))
        width = check_in_flight(in_flight)
        return Plates(tuple(work_in_order(self._read_crop, enumerate(calls), width)))

    def _read_crop(self, numbered: tuple[int, Call]) -> Plate:
        number, call = numbered
        with naming_crop(number):
            return self._infer(call, lambda arrays: read_answer(arrays, call))

    def _infer(self, call: Call, read: Callable[[Arrays], AnswerT]) -> AnswerT:
        """Send a call, again where that may help, and read its answer."""
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
        """Return the operator's settings, which a call's parameters override.

        Raises:
            RequestError: The server has no such model, or the client is closed.
            SettingsError: They are those of another version of the service.
            ServerError: The server gives no answer in time, or none that is one.
        """
        return Settings.from_config(self._config(self._timeout_s).get("parameters", {}))

    def _config(self, timeout_s: float) -> dict[str, Any]:
        with self._translating():
            return self._transport().config(timeout_s)

    def _ask_width(self) -> int:
        """Return how many calls at once fit the server."""
        try:
            return fit(self._config(self._soon_s))
        except PlateError:  # whoever calls next is told
            return FITTING

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
        self._check_open()
        if self._process.pid != os.getpid():
            # We are a forked child, and our parent goes on using its connections. Two threads
            # may both come here; one of the two ways is then used for one call alone.
            self._process = _Process(connect(self._url, self._key))
        return self._process.transport
