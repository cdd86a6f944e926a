"""Requests to the ensemble `plate_reader` for crops of plates, and plates from its responses."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from orchestrator.client.inference import InferenceRequest
from orchestrator.client.parameters import Plain
from orchestrator.client.picture_encoding import Picture, check_several, load_picture
from orchestrator.contract import CROP, OF_A_READING, PLATE_READER, Arrays, from_arrays
from orchestrator.errors import PlateError
from orchestrator.host.optional_dependencies import needs_told
from orchestrator.imaging.files import Bgr, unpack
from orchestrator.imaging.headers import check_file
from orchestrator.plates import Plate
from orchestrator.settings import Settings


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
    with naming_crop(number), needs_told():
        loaded = load_picture(crop)
        bgr = _unpack(loaded) if isinstance(loaded, bytes) else loaded
    return InferenceRequest(
        model=PLATE_READER,
        inputs={CROP: bgr},
        outputs=OF_A_READING,
        parameters=parameters,
        request_id=uuid.uuid4().hex,
    )


def _unpack(file: bytes) -> Bgr:
    """Return the pixels of a file. Its header is checked first, since OpenCV reads more formats."""
    check_file(file, Settings().max_pixels)
    return unpack(file)


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
