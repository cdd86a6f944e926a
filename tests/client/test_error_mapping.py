"""Server messages become errors that a caller can act on."""

import inspect
import io
from functools import cache
from types import ModuleType

import aiohttp
import grpc
import pytest
import tritonclient.utils
import urllib3
from tritonclient.utils import InferenceServerException

from orchestrator.client.aio_http import as_python_errors
from orchestrator.client.error_mapping import translate_errors
from orchestrator.errors import ModelError, ParameterError, PictureError, PlateError, RequestError
from orchestrator.imaging.decoding import decode
from tests.fuzzing.hostile_bombs import bombs
from tests.fuzzing.hostile_metadata import metadata
from tests.fuzzing.hostile_pictures import damaged, truncated

REFUSED = ["400", "StatusCode.INVALID_ARGUMENT"]


def fault_of(message: str, status: str) -> Exception:
    with pytest.raises(RequestError) as raised, translate_errors("localhost:8000", 1, "1f2e"):
        raise InferenceServerException(message, status=status)
    return raised.value


@cache
def rejections() -> set[str]:
    """Return the service's error messages about hostile pictures."""
    messages = set()
    for file in [b"", b"%PDF-1.7", *{**bombs(), **metadata(), **damaged(), **truncated()}.values()]:
        try:
            decode(file)
        except PictureError as error:
            messages.add(str(error))
    return messages


@pytest.mark.parametrize("status", REFUSED)
def test_every_message_of_the_service_about_a_picture_is_a_picture_error(status: str) -> None:
    messages = rejections()
    assert len(messages) > 10
    assert {type(fault_of(message, status)) for message in messages} == {PictureError}


@pytest.mark.parametrize("status", REFUSED)
@pytest.mark.parametrize(
    "message",
    [
        "encoded_image: wanted BYTES [1], got BYTES [2]",
        "encoded_image: wanted a picture that takes up to 600 MiB to unpack, got one of 1x1 pixels",
        "encoded_crop: wanted BYTES [1], got BYTES [2]",
        "input__0: wanted UINT8 [height, width, 3], got UINT8 [0, 0, 3]",
        "picture size: wanted 1 to 50000000 pixels, got 9000x9000 pixels",
        "[request id: 1f2e] encoded_image: damaged 3x3 picture",
        "in ensemble 'plate_reader', crop: wanted 1 to 16000000 pixels, got 5000x5000 pixels",
    ],
)
def test_a_picture_error_has_the_message_of_the_server(message: str, status: str) -> None:
    fault = fault_of(message, status)
    assert type(fault) is PictureError
    assert str(fault) == f"{message.removeprefix('[request id: 1f2e] ')} (request 1f2e)"


@pytest.mark.parametrize("message", ["max_plates: wanted 1 to 100, got 1000", "parameters: wanted"])
def test_a_rejected_parameter_is_named_by_its_class(message: str) -> None:
    assert type(fault_of(message, "400")) is ParameterError


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("inputs: wanted exactly one of input__0 and encoded_image, got none", "400"),
        ("unexpected shape for input 'input__0'", "StatusCode.INVALID_ARGUMENT"),
        ("the call ended 2 workers, one after the other", "400"),
        ("encoded_image: wanted a key", "401"),
    ],
)
def test_other_rejections_are_request_errors(message: str, status: str) -> None:
    assert type(fault_of(message, status)) is RequestError


def errors_of(module: ModuleType, base: type[Exception]) -> list[type[Exception]]:
    """Return a library's own classes of errors that are derived from a base, with the base."""
    library = module.__name__.partition(".")[0]
    return [
        error
        for _, error in inspect.getmembers(module, inspect.isclass)
        if issubclass(error, base)
        and not issubclass(error, Warning)
        and error.__module__.startswith(library)
    ]


SPECIAL = {
    grpc.aio.AioRpcError: (grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata()),
    urllib3.exceptions.IncompleteRead: (1, 2),
    urllib3.exceptions.InvalidChunkLength: (urllib3.HTTPResponse(io.BytesIO()), b"x"),
}
"""Arguments of the errors that do not take an error for each of them."""


def make(error: type[Exception]) -> Exception:
    """Make an error from as many arguments as its class needs."""
    if error in SPECIAL:
        return error(*SPECIAL[error])
    try:
        parameters = inspect.signature(error).parameters.values()
    except ValueError:  # classes without an `__init__` of their own take any arguments
        return error("failed")
    needed = [one for one in parameters if one.default is one.empty]
    return error(*(OSError(5, "failed") for one in needed if one.kind < one.VAR_POSITIONAL))


FOREIGN = [
    *errors_of(urllib3.exceptions, urllib3.exceptions.HTTPError),
    *errors_of(grpc, Exception),
    *errors_of(grpc.aio, Exception),
    *errors_of(tritonclient.utils, Exception),
    *errors_of(aiohttp, aiohttp.ClientError),
]


@pytest.mark.parametrize("error", FOREIGN)
def test_no_error_of_a_library_reaches_the_caller(error: type[Exception]) -> None:
    with (
        pytest.raises(PlateError, match=r"\(request 1f2e\)$"),
        translate_errors("localhost:8000", 1, "1f2e"),
        as_python_errors(),
    ):
        raise make(error)


def test_our_own_errors_pass_unchanged() -> None:
    error = ModelError("yolo: failed")
    with pytest.raises(ModelError) as raised, translate_errors("localhost:8000", 1, "1f2e"):
        raise error
    assert raised.value is error
