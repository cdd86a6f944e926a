"""Arguments of a client: addresses, keys, timeouts, regions and other parameters."""

import json
import math
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from orchestrator.client import PlateClient
from orchestrator.client.server_address import ServerAddress, parse_address
from orchestrator.errors import ParameterError, ServerError, SettingsError
from tests.client.peers import NO_PLATES, listening, parse, receive

PICTURE = b"a picture"


@contextmanager
def recording() -> Iterator[tuple[str, list[bytes]]]:
    """Yields the address of a server, and the requests that it has received."""
    requests: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        while request := receive(connection):
            requests.append(request)
            connection.sendall(NO_PLATES)

    with listening(answer) as url:
        yield url, requests


def send_and_parse(**options: object) -> dict[str, object]:
    """Return the JSON of the request that a client sends for these arguments."""
    with recording() as (url, requests), PlateClient(url, timeout_s=20) as client:
        client.recognize(**{"picture": PICTURE, **options})
    headers, body = parse(requests[0])
    return json.loads(body[: int(headers["Inference-Header-Content-Length"])])


@pytest.mark.parametrize(
    ("url", "path"),
    [
        pytest.param("{}", b"/v2/", id="bare"),
        pytest.param("http://{}", b"/v2/", id="scheme"),
        pytest.param("HTTP://{}/", b"/v2/", id="capitals-and-slash"),
        pytest.param("{}/triton/a", b"/triton/a/v2/", id="base-path"),
    ],
)
def test_an_http_url_may_be(url: str, path: bytes) -> None:
    with recording() as (address, requests):
        with PlateClient(url.format(address), timeout_s=20) as client:
            client.recognize(PICTURE)
        request_line = b"POST " + path + b"models/plate_recognition/infer HTTP/1.1\r\n"
        assert requests[0].startswith(request_line + b"Host: " + address.encode() + b"\r\n")


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="needs IPv6")
def test_an_ipv6_address_is_called() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        url = f"[::1]:{listener.getsockname()[1]}"
    with (
        PlateClient(url, timeout_s=20) as client,
        pytest.raises(ServerError, match=r"^cannot connect to \[::1\]:\d+: connection refused"),
    ):
        client.recognize(PICTURE)


@pytest.mark.parametrize("scheme", ["", "grpc://"])
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        pytest.param("localhost:1", "connection refused", id="refused"),
        pytest.param("no-such-host.invalid:8000", "unknown host", id="unknown-host"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_in_words(
    scheme: str, host: str, reason: str
) -> None:
    message = rf"^cannot connect to {scheme}{host}: {reason}\. Is the server running"
    with (
        PlateClient(f"{scheme}{host}", timeout_s=20) as client,
        pytest.raises(ServerError, match=message),
    ):
        client.recognize(PICTURE)


NO_HOST_AND_PORT = ("", "localhost", "localhost:", ":8000", "grpc://localhost", "http://", None)
NO_PORT = ("localhost:99999", "localhost:0", "localhost:-1", "localhost:http")
NO_HOST = ("::1:8000", "a host:8000", "localhost:8000?x=1", "grpc://localhost:8001/base")
NO_SCHEME = ("grpcs://localhost", "https://localhost:0", "ftp://localhost:8000")


@pytest.mark.parametrize("url", [*NO_HOST_AND_PORT, *NO_PORT, *NO_HOST, *NO_SCHEME])
def test_other_urls_are_errors(url) -> None:
    message = r"^url: wanted host:port, http\(s\)://host:port or grpc\(s\)://host:port, got "
    with pytest.raises(ServerError, match=message):
        PlateClient(url)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ServerError, match="got one with a user or password") as failure:
        PlateClient("http://me:secret@localhost:8000")
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize("timeout_s", [0, -1, math.nan, math.inf, "5", None, True, 1e9])
def test_other_timeouts_are_errors(timeout_s) -> None:
    with pytest.raises(SettingsError, match=r"^timeout_s: wanted seconds above 0 and up to"):
        PlateClient(timeout_s=timeout_s)


@pytest.mark.parametrize(
    "roi", ["0,10,640,480.5", (0, 10, 640, 480.5), np.array([0, 10, 640, 480.5], np.float32)]
)
def test_a_region_may_be_text_or_four_numbers(roi) -> None:
    assert send_and_parse(roi=roi, outputs=["texts"])["parameters"] == {"roi": "0,10,640,480.5"}


def test_a_request_for_all_outputs_names_none_as_the_server_knows_them() -> None:
    request = send_and_parse()
    assert "outputs" not in request
    assert request["parameters"] == {"binary_data_output": True}
    names = [output["name"] for output in send_and_parse(outputs=["texts"])["outputs"]]
    assert names == ["coordinates", "texts"]


@pytest.mark.parametrize("roi", [(), (1, 2, 3), range(5), 7, (1, 2, 3, "right"), (1, 2, 3, None)])
def test_other_regions_are_errors(roi) -> None:
    with (
        PlateClient("127.0.0.1:9") as client,
        pytest.raises(ParameterError, match=r"^roi: wanted four numbers or"),
    ):
        client.recognize(PICTURE, roi=roi)


def test_numbers_of_numpy_are_parameters() -> None:
    numbers = {"detection_threshold": np.float32(0.5), "max_plates": np.int64(3)}
    parameters = send_and_parse(**numbers, outputs=["texts"])["parameters"]
    assert parameters == {"detection_threshold": 0.5, "max_plates": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_plates": [3]}, r"^max_plates: wanted a number, got \[3\]"),
        ({"max_plates": 2**70}, "^max_plates: wanted a number of 64 bits, got 1180"),
        ({"text_threshold": "0.5\n"}, "^text_threshold: wanted a number, got '0.5"),
        ({"request_id": 7}, "^request_id: wanted printable text, got 7"),
        ({"request_id": "a\nb"}, "^request_id: wanted printable text, got 'a"),
        ({"request_id": "\ud800"}, "^request_id: wanted printable text, got"),
    ],
)
@pytest.mark.parametrize("url", ["127.0.0.1:9", "grpc://127.0.0.1:9"])
def test_parameters_that_no_request_can_carry_are_errors(url: str, options, message: str) -> None:
    with PlateClient(url) as client, pytest.raises(ParameterError, match=message):
        client.recognize(PICTURE, **options)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        pytest.param(lambda: np.zeros((2, 3, 3), np.uint8), "input__0", id="array"),
        pytest.param(lambda: np.zeros((3, 2, 3), np.uint8).transpose(1, 0, 2), "input__0", id="T"),
        pytest.param(lambda: PICTURE, "encoded_image", id="file"),
    ],
)
def test_a_picture_travels_as_the_input_of_its_kind(make: Callable[[], object], name: str) -> None:
    (tensor,) = send_and_parse(picture=make())["inputs"]
    assert tensor["name"] == name


@pytest.mark.parametrize(
    ("url", "address"),
    [
        pytest.param("a:8000", ServerAddress("http", "a", 8000), id="bare"),
        pytest.param("http://a", ServerAddress("http", "a", 80), id="http"),
        pytest.param("https://a", ServerAddress("http", "a", 443, is_tls=True), id="https"),
        pytest.param(
            "HTTPS://a:8443/base/",
            ServerAddress("http", "a", 8443, is_tls=True, base="/base"),
            id="https-port-and-base",
        ),
        pytest.param("grpc://[::1]:8001", ServerAddress("grpc", "[::1]", 8001), id="grpc"),
        pytest.param("grpcs://a:8443", ServerAddress("grpc", "a", 8443, is_tls=True), id="grpcs"),
    ],
)
def test_a_scheme_says_the_protocol(url: str, address: ServerAddress) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize("key", ["", "hush hush", "hush\n", "hüsh", "hush\x7f", b"hush", 5])
@pytest.mark.parametrize("url", ["localhost:8000", "grpcs://localhost:8001"])
def test_an_invalid_key_is_an_error_that_does_not_show_it(url: str, key: object) -> None:
    message = "^key: wanted printable ASCII characters without blanks, got what is not shown here$"
    with pytest.raises(SettingsError, match=message):
        PlateClient(url, key=key)
