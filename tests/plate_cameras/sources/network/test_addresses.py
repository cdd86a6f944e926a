from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Camera
from plate_cameras.sources.network.addresses import address_of, find_here, parse_address
from plate_cameras.sources.status import Limits

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"rtsp://user:{SECRET}@cam.example:554/stream1", "rtsp://cam.example:554"),
        (f"http://cam.example/video?user=a&password={SECRET}", "http://cam.example"),
        (f"rtsp://10.0.0.9/user=admin_password={SECRET}_channel=1.sdp", "rtsp://10.0.0.9"),
        pytest.param(f"rtsp://u:{SECRET}@[::1]:8554/a", "rtsp://[::1]:8554", id="IPv6"),
        pytest.param(f"rtsp://u:{SECRET}@cam:port/a", "the camera", id="no valid port"),
    ],
)
def test_no_secret_is_shown(url: str, shown: str) -> None:
    address = parse_address(url, Limits())
    assert address.shown == shown
    assert address.url == url
    assert SECRET not in repr(address)


def test_rtsp_runs_over_tcp_with_a_timeout_in_microseconds() -> None:
    options = parse_address("rtsp://cam/1", Limits(read_s=2.5)).options
    assert options["rtsp_transport"] == "tcp"
    assert options["timeout"] == "2500000"


@pytest.mark.parametrize("url", ["/clips/gate.mp4", "file:///clips/gate.mp4"])
def test_paths_are_files(url: str) -> None:
    address = parse_address(url, Limits())
    assert (address.url, address.shown) == ("file:/clips/gate.mp4", "gate.mp4")
    assert address.is_file


def test_a_device_is_opened_by_video4linux() -> None:
    address = parse_address("/dev/video0", Limits())
    assert (address.url, address.format, address.is_file) == ("/dev/video0", "v4l2", False)


@pytest.mark.parametrize("url", ["rtsps://cam/1", "https://cam/1", "http://cam/sends-me-on"])
def test_certificates_are_verified(url: str) -> None:
    options = address_of(Camera("gate", url), Limits()).options
    assert options["tls_verify"] == "1"
    assert Path(options["ca_file"]).is_file()  # the system's certificates


def test_a_camera_may_have_its_own_certificate() -> None:
    camera = Camera("gate", "rtsps://cam/1", tls_ca_file=Path("cam.pem"))
    assert address_of(camera, Limits()).options["ca_file"] == "cam.pem"
    assert find_here(camera).tls_ca_file == Path.cwd() / "cam.pem"


@pytest.mark.parametrize(
    "camera",
    [
        pytest.param(Camera("gate", "rtsps://cam/1", verify_tls=False), id="as the settings say"),
        pytest.param(Camera("gate", "/clips/gate.mp4"), id="a file has no certificate"),
    ],
)
def test_nothing_is_verified(camera: Camera) -> None:
    assert "tls_verify" not in address_of(camera, Limits()).options


def test_a_certificate_that_would_not_count_is_rejected() -> None:
    with pytest.raises(SettingsError, match="verify_tls = true"):
        Camera("gate", "rtsps://cam/1", verify_tls=False, tls_ca_file=Path("cam.pem"))
