"""Server messages become errors that a caller can act on."""

import inspect
import io
import pickle
import socket
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from functools import cache
from types import ModuleType

import aiohttp
import grpc
import pytest
import tritonclient.utils
import urllib3
from tritonclient.utils import InferenceServerException

from orchestrator import (
    ErrorResponse,
    FakeTransport,
    Overloaded,
    PlateClient,
    PlateError,
    Plates,
    RequestError,
)
from orchestrator.client.aio_http import as_python_errors
from orchestrator.client.error_mapping import RejectedError, parse_retry_after, translate_errors
from orchestrator.errors import ModelError, ParameterError, PictureError
from orchestrator.host.retry import Retries
from orchestrator.imaging.decoding import decode
from tests.client.peers import listening, listening_over_grpc, receive, reply
from tests.fuzzing.hostile_bombs import bombs
from tests.fuzzing.hostile_metadata import metadata
from tests.fuzzing.hostile_pictures import damaged, truncated

REFUSED = ["400", "StatusCode.INVALID_ARGUMENT"]
PICTURE = b"a picture"


def fault_of(message: str, status: str) -> Exception:
    with pytest.raises(RequestError) as failure, translate_errors("localhost:8000", 1, "1f2e"):
        raise InferenceServerException(message, status=status)
    return failure.value


@cache
def rejections() -> set[str]:
    """The service's error messages about hostile pictures."""
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
    ("message", "kind"),
    [
        ("encoded_image: wanted BYTES [1], got BYTES [2]", PictureError),
        ("encoded_image: wanted a picture that takes up to 600 MiB, got one of 1x1", PictureError),
        ("encoded_crop: wanted BYTES [1], got BYTES [2]", PictureError),
        ("input__0: wanted UINT8 [height, width, 3], got UINT8 [0, 0, 3]", PictureError),
        ("picture size: wanted 1 to 50000000 pixels, got 9000x9000 pixels", PictureError),
        ("[request id: 1f2e] encoded_image: damaged 3x3 picture", PictureError),
        ("in ensemble 'plate_reader', crop: wanted 1 to 16000000 pixels, got 5", PictureError),
        ("max_plates: wanted 1 to 100, got 1000", ParameterError),
        ("parameters: wanted", ParameterError),
        ("inputs: wanted exactly one of input__0 and encoded_image, got none", RequestError),
        ("unexpected shape for input 'input__0'", RequestError),
        ("the call ended 2 workers, one after the other", RequestError),
    ],
)
def test_a_rejection_has_the_class_of_its_fault_and_the_message_of_the_server(
    message: str, kind: type, status: str
) -> None:
    fault = fault_of(message, status)
    assert type(fault) is kind
    assert str(fault) == f"{message.removeprefix('[request id: 1f2e] ')} (request 1f2e)"


def test_the_message_of_a_server_is_one_line_of_bounded_length() -> None:
    message = str(fault_of("no\n\x1b[31m" * 10_000, "400")).removesuffix(" (request 1f2e)")
    assert (message.isprintable(), len(message)) == (True, 2000)


def test_a_rejected_key_or_host_is_no_fault_of_the_picture() -> None:
    assert {type(fault_of("crop: no", code)) for code in ("401", "415", "421")} == {RequestError}


def errors_of(module: ModuleType, base: type[Exception]) -> list[type[Exception]]:
    """Return an error class and all subclasses that its library defines."""
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
"""Arguments for the error classes whose constructor takes more than messages."""


def make(error: type[Exception]) -> Exception:
    """Make an error with the number of arguments that its class requires."""
    if error in SPECIAL:
        return error(*SPECIAL[error])
    try:
        parameters = inspect.signature(error).parameters.values()
    except ValueError:  # classes without an `__init__` of their own take any arguments
        return error("failed")
    needed_count = sum(
        parameter.default is parameter.empty and parameter.kind < parameter.VAR_POSITIONAL
        for parameter in parameters
    )
    return error(*[OSError(5, "failed")] * needed_count)


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
    with pytest.raises(ModelError) as failure, translate_errors("localhost:8000", 1, "1f2e"):
        raise error
    assert failure.value is error


@pytest.mark.parametrize(
    ("response", "expected_response"),
    [
        pytest.param(reply(503, b'{"error": "full"}'), ErrorResponse(503), id="no-pause"),
        pytest.param(
            reply(503, b"<html>").replace(b"\r\n", b"\r\nRetry-After: 3\r\n", 1),
            ErrorResponse(503, retry_after_s=3.0),
            id="pause",
        ),
        pytest.param(
            reply(400, b'{"error": "no"}').replace(b"\r\n", b"\r\nretry-after: soon\r\n", 1),
            ErrorResponse(400),
            id="unreadable-pause",
        ),
        pytest.param(reply(502, b"<html>"), ErrorResponse(502), id="page"),
        pytest.param(reply(200, b""), ErrorResponse(200), id="empty"),
        pytest.param(reply(200, b"<html>"), ErrorResponse(200), id="unreadable"),
        pytest.param(b"", ErrorResponse(), id="none"),
    ],
)
def test_an_error_carries_the_http_response(
    recognize: Callable[..., Plates], response: bytes, expected_response: ErrorResponse
) -> None:
    def respond(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(response)

    with listening(respond) as url, pytest.raises(PlateError) as failure:
        recognize(url)
    assert failure.value.response == expected_response


@pytest.fixture(scope="module")
def full_over_grpc() -> Iterator[str]:
    """A server that rejects every call like a full gateway; yields its URL."""

    def reject(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.set_trailing_metadata((("retry-after", "1"),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "all places are taken; try again later")

    with listening_over_grpc(reject) as url:
        yield url


def test_an_error_carries_the_grpc_code_and_the_pause(
    recognize: Callable[..., Plates], full_over_grpc: str
) -> None:
    with pytest.raises(Overloaded) as failure:
        recognize(full_over_grpc)
    assert failure.value.response == ErrorResponse(grpc_code="UNAVAILABLE", retry_after_s=1.0)


def test_an_error_of_the_client_has_an_empty_response() -> None:
    with PlateClient("127.0.0.1:9") as client, pytest.raises(PlateError) as failure:
        client.recognize(b"")
    assert failure.value.response == ErrorResponse()


def test_a_pickled_error_keeps_its_response() -> None:
    error = Overloaded("full", response=ErrorResponse(503, retry_after_s=1.0))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.response) == ("full", error.response)


def full(retry_after_s: float) -> Overloaded:
    return Overloaded("full", response=ErrorResponse(503, retry_after_s=retry_after_s))


def test_a_retry_waits_as_long_as_the_server_asks(recognize) -> None:
    transport = FakeTransport(full(0.3), Plates())
    start_s = time.monotonic()
    assert recognize(transport=transport, retries=1) == Plates()
    assert time.monotonic() - start_s >= 0.3
    assert len(transport.requests) == 2


def test_a_pause_that_is_longer_than_the_timeout_ends_the_retries(
    recognize: Callable[..., Plates],
) -> None:
    transport = FakeTransport(full(3))
    with pytest.raises(Overloaded, match="full"):
        recognize(transport=transport, retries=5, timeout_s=2)
    assert len(transport.requests) == 1


def test_a_request_error_is_not_retried_even_if_the_server_asks(
    recognize: Callable[..., Plates],
) -> None:
    transport = FakeTransport(RequestError("not so", response=ErrorResponse(400, None, 0.0)))
    with pytest.raises(RequestError, match="not so"):
        recognize(transport=transport, retries=5)
    assert len(transport.requests) == 1


def test_a_pause_is_never_shorter_than_the_server_asks() -> None:
    pauses = [Retries(9).pause_after_s(full(5), retry) for retry in range(9)]
    assert all(5 <= pause <= 7.5 for pause in pauses)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("0", 0, id="at-once"),
        pytest.param("120", 120, id="seconds"),
        pytest.param("-3", None, id="negative"),
        pytest.param("soon", None, id="words"),
        pytest.param("Fri, 31 Dec 1999 23:59:59 GMT", 0, id="long-ago"),
        pytest.param("Fri, 31 Dec 1999 23:59:59 -0000", 0, id="long-ago-in-utc"),
    ],
)
def test_retry_after_is_parsed(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text) == seconds


def test_a_date_is_the_time_until_then() -> None:
    moment = datetime.now(timezone.utc) + timedelta(seconds=100)
    assert 90 < parse_retry_after(format_datetime(moment, usegmt=True)) <= 100


@pytest.mark.parametrize("status", ["404", "405"])
@pytest.mark.parametrize(
    ("url", "hint"),
    [
        pytest.param("http://a:8000/v1/recognize", "try http://a:8000", id="an address of REST"),
        pytest.param("a:8000/docs/", "try a:8000", id="without a scheme"),
        pytest.param("https://a/prefix", "try https://a", id="a proxy's prefix"),
        pytest.param("http://a:8000/", "", id="no path"),
        pytest.param("a:8000", "", id="no scheme and no path"),
    ],
)
def test_a_path_in_the_url_is_named_where_nothing_is_there(status, url: str, hint: str) -> None:
    with pytest.raises(PlateError) as failure, translate_errors(url, 1.0):
        raise RejectedError("no such path", status, ErrorResponse(int(status)))
    assert str(failure.value).endswith(hint or "no such path")
    assert ("The URL has the path" in str(failure.value)) is bool(hint)
