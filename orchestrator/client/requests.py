"""Requests about pictures and crops: parameters that are checked once, and the result of each."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from orchestrator.client.inference import InferenceRequest, to_input
from orchestrator.client.parameters import Plain, make_plain, to_parameters, write_roi
from orchestrator.client.picture_encoding import Picture, check_several, load_picture
from orchestrator.contract import (
    ALL_OUTPUTS,
    CROP,
    ENCODED,
    OF_A_READING,
    PLATE_READER,
    Arrays,
    complete,
    from_arrays,
)
from orchestrator.errors import PictureError, PlateError
from orchestrator.host.distribution import explain_missing_package
from orchestrator.imaging.files import CUT_NOTE, Bgr, from_base64, unpack
from orchestrator.imaging.headers import check_file
from orchestrator.plates import Plate, Plates
from orchestrator.settings import Settings

FITTING = 4
"""Calls at once if the server does not report how many pictures it has in work."""


class RequestOptions(TypedDict, total=False):
    """The options of a call, without its picture. `PlateClient.recognize` describes each."""

    detection_threshold: float | None
    text_threshold: float | None
    max_plates: int | None
    detector_side_px: int | None
    roi: str | Sequence[float] | None
    outputs: Collection[str]


@dataclass(frozen=True)
class PictureRequest:
    """The parameters and outputs of a request about a picture.

    Attributes:
        outputs: Names of the outputs, from `complete`.
    """

    parameters: Mapping[str, Plain]
    outputs: Sequence[str]

    @classmethod
    def of(
        cls,
        *,
        roi: str | Sequence[float] | None = None,
        outputs: Collection[str] = ALL_OUTPUTS,
        **numbers: float | None,
    ) -> PictureRequest:
        """Check the options of a call, see `RequestOptions`.

        Raises:
            ParameterError: A value cannot be sent.
            TypeError: There is no such option.
        """
        unknown_names = sorted(numbers.keys() - RequestOptions.__annotations__.keys())
        if unknown_names:
            raise TypeError(
                f"recognize: wanted some of {', '.join(RequestOptions.__annotations__)}, "
                f"got {unknown_names[0]}"
            )
        values = {**numbers, "roi": None if roi is None else write_roi(roi)}
        return cls(to_parameters(values), complete(outputs))

    def about(self, picture: Picture, request_id: str = "") -> InferenceRequest:
        """Return the call with this request about a picture.

        Args:
            picture: Picture in any form that `load_picture` takes.
            request_id: Request id. If empty, a new one.

        Raises:
            PictureError: The value holds no picture.
            ParameterError: The id is not valid.
        """
        return InferenceRequest(
            inputs=to_input(load_picture(picture)),
            outputs=self.outputs,
            parameters=self.parameters,
            request_id=str(make_plain("request_id", request_id)) or uuid.uuid4().hex,
        )

    def read(self, arrays: Arrays) -> Plates:
        """Return the plates of an answer.

        Raises:
            ModelError: An output is missing, or has a wrong type or shape.
        """
        return from_arrays(arrays, self.outputs)


@dataclass(frozen=True)
class PictureResult:
    """The result of one picture of many.

    Example:
        ```python
        for result in client.recognize_many(paths):
            print(result.picture, result.error or result.plates.texts)
        ```

    Attributes:
        picture: The caller's picture, unchanged.
        outcome: Its plates, or the error.
    """

    picture: Picture
    outcome: Plates | PlateError

    @property
    def error(self) -> PlateError | None:
        """The error of a picture that could not be recognised; None if it could."""
        return self.outcome if isinstance(self.outcome, PlateError) else None

    @property
    def plates(self) -> Plates:
        """The plates. If they are empty, the picture has none.

        Raises:
            PlateError: The picture could not be recognised.
        """
        if isinstance(self.outcome, PlateError):
            raise self.outcome
        return self.outcome


def note_of(request: InferenceRequest) -> str:
    """Return what is wrong with the picture of an answered request; empty for nothing.

    REST answers have the same note. The inference protocol has no place for it.
    """
    with suppress(LookupError, PictureError):  # pixels, or a file that only the server knows
        file = from_base64(request.inputs[ENCODED][0])
        return CUT_NOTE if check_file(file, sys.maxsize).is_cut else ""
    return ""


def fit(config: Mapping[str, Any]) -> int:
    """Return how many calls at once keep a server busy.

    This is twice the number of its pictures in work. So each instance always has a next picture.

    Args:
        config: Configuration of the model.
    """
    try:
        in_work = sum(int(group["count"]) for group in config["instance_group"])
    except (LookupError, TypeError, ValueError):
        return FITTING
    return 2 * in_work if in_work > 0 else FITTING


def make_crop_requests(
    crops: Iterable[Picture], parameters: Mapping[str, Plain]
) -> list[InferenceRequest]:
    """Return the requests that read crops.

    Args:
        crops: Crops in any form that `load_picture` takes. Files are decoded here.
        parameters: Request parameters.

    Raises:
        PictureError: A crop holds no picture.
        ExtraError: A crop is a file, and OpenCV is not installed.
    """
    check_several("crops", crops)
    return [_crop_request(number, crop, parameters) for number, crop in enumerate(crops)]


def _crop_request(number: int, crop: Picture, parameters: Mapping[str, Plain]) -> InferenceRequest:
    with naming_crop(number), explain_missing_package():
        picture = load_picture(crop)
        bgr = _unpack(picture) if isinstance(picture, bytes) else picture
    return InferenceRequest(
        model=PLATE_READER,
        inputs={CROP: bgr},
        outputs=OF_A_READING,
        parameters=parameters,
        request_id=uuid.uuid4().hex,
    )


def _unpack(file: bytes) -> Bgr:
    """Return the pixels of a file. Its header is checked first, since OpenCV reads more formats."""
    return unpack(file, check_file(file, Settings().max_pixels))


def read_plate(arrays: Arrays, request: InferenceRequest) -> Plate:
    """Return the plate of a response. Its box is the whole crop.

    Raises:
        ModelError: An output is missing, or has a wrong type or shape.
    """
    height, width = request.inputs[CROP].shape[:2]
    whole = np.array([[0, 0, width, height]], np.float32)
    (plate,) = from_arrays({**arrays, "coordinates": whole}, ("coordinates", *OF_A_READING))
    return plate


@contextmanager
def naming_crop(number: int) -> Iterator[None]:
    """Add the number of the crop to the message of an error."""
    try:
        yield
    except PlateError as error:
        raise type(error)(f"crop {number}: {error}", response=error.response) from error
