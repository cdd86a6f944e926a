"""Addresses: their form, whether they are public, and loopback past the proxies."""

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host.loopback import is_loopback, open_url, without_proxy
from orchestrator.host.network_addresses import check_address, is_public
from tests.client.peers import listening, receive, reply

PUBLIC = ("93.184.215.14", "2606:2800:21f:cb07::1", "::ffff:1.1.1.1", "64:ff9b::101:101")
PRIVATE = (
    "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "::1", "::", "fe80::1", "fe80::1%lo", "fd00::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "::7f00:1",
)  # fmt: skip


@pytest.mark.parametrize("address", [*PUBLIC, *PRIVATE])
def test_only_global_addresses_are_public(address: str) -> None:
    assert is_public(address) is (address in PUBLIC)


@pytest.mark.parametrize(
    "address",
    [
        "rtsp://user:p%23ss@10.0.0.5:554/stream1",
        "http://[::1]:80/",
        "clip.mp4",
        "/dev/video0",
        "кадры/клип.mp4",
        "",
    ],
)
def test_an_address_that_can_be_parsed_is_taken(address: str) -> None:
    check_address("url", address)


@pytest.mark.parametrize(
    "address",
    [
        "http://[",
        "http://[::1",
        "mqtt://broker:port",
        "http://host:99999/",
        "rtsp://user:se#cret@10.0.0.5/",
        "rtsp://user:se/cret@10.0.0.5/",
        "rtsp://user:se?cret@10.0.0.5/",
        "rtsp://secret\u2100@host/",
    ],
)
def test_another_is_rejected_without_its_password(address: str) -> None:
    with pytest.raises(SettingsError, match=r"url: wanted an address like .*%23") as failure:
        check_address("url", address)
    assert "cret" not in str(failure.value)


@pytest.mark.parametrize("address", ["clip\0.mp4", "http://host/\n", "\x7f"])
def test_control_characters_are_rejected(address: str) -> None:
    with pytest.raises(SettingsError, match="control character"):
        check_address("url", address)


@pytest.fixture
def url() -> Iterator[str]:
    def answer(connection: socket.socket) -> None:
        receive(connection)
        connection.sendall(reply(200, b"here"))

    with listening(answer) as address:
        yield f"http://{address}/"


@pytest.fixture
def _proxy_that_refuses(monkeypatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, dead)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_proxy_that_refuses")
def test_a_url_is_opened_past_the_proxy(url: str) -> None:
    with pytest.raises(OSError, match="refused"):
        urllib.request.build_opener().open(url, timeout=5)  # urlopen keeps the first one it made
    with open_url(url, timeout_s=5) as answer:
        assert answer.read() == b"here"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", False),
        ("http://localhost:4318/v1", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:4318", True),
        ("http://localhost.example/127.0.0.1", False),
    ],
)
def test_a_url_of_this_machine_is_known(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, "localhost,::1,127.0.0.1", id="unset"),
        pytest.param({"NO_PROXY": "corp"}, "corp,localhost,::1,127.0.0.1", id="upper"),
        pytest.param({"no_proxy": "corp"}, "corp,localhost,::1,127.0.0.1", id="lower"),
        pytest.param(
            {"no_proxy": "a", "NO_PROXY": "b"}, "a,localhost,::1,127.0.0.1", id="lower-first"
        ),
        pytest.param({"NO_PROXY": "*"}, "*", id="all"),
    ],
)
def test_loopback_is_added_to_who_needs_no_proxy(variables: dict[str, str], expected: str) -> None:
    assert without_proxy(variables) == {"no_proxy": expected, "NO_PROXY": expected}
