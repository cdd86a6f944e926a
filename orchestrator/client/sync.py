"""The client for threads: it takes pictures and returns plates, instead of tensors."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from orchestrator.client.base import BaseClient
from orchestrator.client.channels import Channel
from orchestrator.client.connecting import connect
from orchestrator.client.inference import InferenceRequest
from orchestrator.client.ordered_results import work_in_order
from orchestrator.client.parameters import check_in_flight, to_parameters
from orchestrator.client.picture_encoding import Picture
from orchestrator.client.requests import PictureRequest, PictureResult, make_crop_requests
from orchestrator.client.transport import Transport
from orchestrator.contract import ALL_OUTPUTS
from orchestrator.errors import PlateError
from orchestrator.host.blocking import run_blocking
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from orchestrator.client.requests import RequestOptions


@dataclass(frozen=True)
class _Process:
    """The state of a client in one process. A forked child needs its own."""

    channel: Channel
    pid: int = field(default_factory=os.getpid)
    counting: threading.Lock = field(default_factory=threading.Lock)


class PlateClient(BaseClient[Transport]):
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

    _sleep = staticmethod(time.sleep)

    def _prepare(self) -> None:
        self._process = _Process(self._custom or connect(self._url, self._key))

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
            roi: Pixels where a plate's middle has to lie: x0, y0, x1, y1, or text "x0,y0,x1,y1".
            outputs: Names of the wanted outputs of the model. The server computes no others, and
                their parts of a `Plate` stay empty. The boxes always come. By default, all outputs
                that the server has.
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
        options = PictureRequest.of(
            detection_threshold=detection_threshold,
            text_threshold=text_threshold,
            max_plates=max_plates,
            detector_side_px=detector_side_px,
            roi=roi,
            outputs=outputs,
        )
        return run_blocking(self._recognize(options, picture, request_id))

    def recognize_many(
        self,
        pictures: Iterable[Picture],
        *,
        in_flight: int | None = None,
        **arguments: Unpack[RequestOptions],
    ) -> Generator[PictureResult, None, None]:
        """Find and read the plates of many pictures, several at once.

        A picture is taken only if there is room. At most twice `in_flight` pictures are ahead of
        the results that the caller has taken. A ready result is given out after the next picture
        was taken. So a camera's result comes one frame later.

        Args:
            pictures: Pictures in any form that `recognize` takes. There may be infinitely many.
            in_flight: Calls at once. If None, twice the server's number of pictures in work. The
                client asks for that number; without an answer it makes 4 calls at once.
            arguments: The parameters of `recognize`, except `request_id`.

        Returns:
            The result of each picture, in their order. A picture that fails does not affect others.

        Raises:
            ParameterError: A parameter cannot be sent, or `in_flight` is not a valid number.
            PictureError: `pictures` is a single picture.
            RequestError: The client is closed.
        """
        options = PictureRequest.of(**arguments)
        at_once = self._check_many(pictures, in_flight)

        def recognize_one(picture: Picture) -> PictureResult:
            return run_blocking(self._recognize_one(options, picture))

        def begin() -> Generator[PictureResult, None, None]:
            width = at_once or run_blocking(self._fitting_calls())
            yield from work_in_order(recognize_one, pictures, width)

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
        requests = make_crop_requests(crops, to_parameters({"text_threshold": text_threshold}))
        width = check_in_flight(in_flight)

        def read_crop(numbered_request: tuple[int, InferenceRequest]) -> Plate:
            return run_blocking(self._read_crop(numbered_request))

        return Plates(tuple(work_in_order(read_crop, enumerate(requests), width)))

    def _note_retry(self, error: PlateError) -> None:
        with self._process.counting:
            super()._note_retry(error)

    def is_ready(self) -> bool:
        """Tell within five seconds whether the server answers and has the model.

        Raises:
            RequestError: The client is closed.
        """
        return run_blocking(self._is_ready())

    def server_settings(self) -> Settings:
        """Return the operator's settings. The parameters of a call override them.

        Raises:
            RequestError: The server has no such model, or the client is closed.
            SettingsError: The settings are from another version of the service.
            ServerError: The server gives no answer in time, or no valid answer.
        """
        return run_blocking(self._server_settings())

    def close(self) -> None:
        """Close the connections. Later calls raise errors."""
        self._is_closed = True
        if self._process.pid == os.getpid():  # else the connections belong to the parent
            run_blocking(self._process.channel.close())

    def __enter__(self) -> PlateClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _channel(self) -> Channel:
        """Return the channel of this process."""
        self._check_open()
        if self._process.pid != os.getpid():
            # This is a forked child. The parent continues to use its own connections. Two threads
            # may both come here; one of the two channels then serves only one call.
            self._process = _Process(self._custom or connect(self._url, self._key))
        return self._process.channel
