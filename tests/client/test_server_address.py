"""URLs and keys of servers: accepted forms, and their meaning."""

import pytest

from orchestrator.client import PlateClient
from orchestrator.client.server_address import ServerAddress, parse_address
from orchestrator.errors import SettingsError


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
