"""Addresses in settings."""

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host.address_checks import check_address


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
