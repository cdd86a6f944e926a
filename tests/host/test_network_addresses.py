"""The form of addresses in settings, and whether they are public."""

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host.network_addresses import check_address, is_public

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
    with pytest.raises(SettingsError, match=r"url: wanted an address like .*%23") as raised:
        check_address("url", address)
    assert "cret" not in str(raised.value)


@pytest.mark.parametrize("address", ["clip\0.mp4", "http://host/\n", "\x7f"])
def test_control_characters_are_rejected(address: str) -> None:
    with pytest.raises(SettingsError, match="control character"):
        check_address("url", address)
