from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Camera
from plate_cameras.sources.network.addresses import address_of, parse_address, resolve_paths
from plate_cameras.sources.status import Limits

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("url", "ffmpeg_url", "label", "is_file"),
    [
        (f"rtsp://u:{SECRET}@cam:554/1", f"rtsp://u:{SECRET}@cam:554/1", "rtsp://cam:554", False),
        (f"http://cam/v?p={SECRET}", f"http://cam/v?p={SECRET}", "http://cam", False),
        (f"rtsp://u:{SECRET}@cam:port/a", f"rtsp://u:{SECRET}@cam:port/a", "the camera", False),
        ("/clips/gate.mp4", "file:/clips/gate.mp4", "gate.mp4", True),
        ("file:///clips/gate.mp4", "file:/clips/gate.mp4", "gate.mp4", True),
        ("FILE:///clips/gate.mp4", "file:/clips/gate.mp4", "gate.mp4", True),
        ("/dev/video0", "/dev/video0", "/dev/video0", False),
    ],
)
def test_no_secret_of_an_address_is_shown(
    url: str, ffmpeg_url: str, label: str, is_file: bool
) -> None:
    address = parse_address(url, Limits())
    assert (address.url, address.label, address.is_file) == (ffmpeg_url, label, is_file)
    assert SECRET not in repr(address)
    assert (address.format == "v4l2") == (url == "/dev/video0")


def test_rtsp_runs_over_tcp_with_a_timeout_in_microseconds() -> None:
    options = parse_address("rtsp://cam/1", Limits(read_s=2.5)).options
    assert options["rtsp_transport"] == "tcp"
    assert options["timeout"] == "2500000"


@pytest.mark.parametrize("url", ["rtsps://cam/1", "https://cam/1", "http://cam/sends-me-on"])
def test_certificates_are_verified(url: str) -> None:
    options = address_of(Camera("gate", url), Limits()).options
    assert options["tls_verify"] == "1"
    assert Path(options["ca_file"]).is_file()  # the system's certificates


def test_a_camera_may_have_its_own_certificate() -> None:
    camera = Camera("gate", "rtsps://cam/1", tls_ca_file=Path("cam.pem"))
    assert address_of(camera, Limits()).options["ca_file"] == "cam.pem"
    assert resolve_paths(camera).tls_ca_file == Path.cwd() / "cam.pem"


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
