"""URLs of cameras whose passwords contain characters with a meaning in URLs."""

import json
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.camera_urls import check_url, encode_login, host_of, show
from plate_cameras.configuration import read_configuration

PARTS = ("s3cret", "s3", "cret")
UNDERSTOOD = [
    ("rtsp://cam/1", "rtsp://cam/1", "rtsp://cam"),
    ("rtsp://cam:554/1?a=b@c", "rtsp://cam:554/1?a=b@c", "rtsp://cam:554"),
    ("http://cam:80/axis@1/v.cgi", "http://cam:80/axis@1/v.cgi", "http://cam:80"),
    ("RTSP://u:s3cret@cam/1", "RTSP://u:s3cret@cam/1", "rtsp://cam"),
    ("rtsp://u:s3%40cret@cam/1", "rtsp://u:s3%40cret@cam/1", "rtsp://cam"),
    ("rtsp://u:s3@cret@cam/1", "rtsp://u:s3%40cret@cam/1", "rtsp://cam"),
    ("rtsp://u@x:s3:cret@cam:1/1", "rtsp://u%40x:s3%3Acret@cam:1/1", "rtsp://cam:1"),
    ("rtsp://u:s3%cret@cam/1", "rtsp://u:s3%25cret@cam/1", "rtsp://cam"),
    ("rtsp://u:s3 cret@cam/1", "rtsp://u:s3%20cret@cam/1", "rtsp://cam"),
    ("rtsp://u:säcret@cam/1", "rtsp://u:s%C3%A4cret@cam/1", "rtsp://cam"),
    ("rtsp://u:s3[cret]@[::1]:8554/1", "rtsp://u:s3%5Bcret%5D@[::1]:8554/1", "rtsp://[::1]:8554"),
    ("rtsp://u:!$&'()*+,;=-._~@cam/1", "rtsp://u:!$&'()*+,;=-._~@cam/1", "rtsp://cam"),
    ("https://u:@cam", "https://u:@cam", "https://cam"),
]
HOW = "write @ as %40, : as %3A, / as %2F"
WRONG = [
    ("rtsp://u:s3/cret@10.0.0.5/1", HOW),
    ("rtsp://u:s3?cret@cam/1", HOW),
    ("rtsp://u:s3#cret@cam/1", HOW),
    ("rtsp://s3#cret@cam/1", HOW),
    ("rtsp://u:33/s3cret@10.0.0.5:554/1", HOW),
    ("http://u:s3/cr@et@cam/1", HOW),
    ("rtsp://u:s3cret@/1", ""),
    ("rtsp:///s3cret", ""),
    ("rtsp://u:s3cret@cam:port/1", ""),
    ("rtsp://u:s3cret@cam:99999/1", ""),
    ("rtsp://u:s3cret@[::1/1", ""),
    ("rtsp://u:s3cret@cam/1\n", ""),
]


@pytest.mark.parametrize(("url", "encoded_url", "label"), UNDERSTOOD)
def test_a_password_may_hold_what_cannot_be_taken_for_something_else(
    url: str, encoded_url: str, label: str
) -> None:
    check_url(url)
    assert encode_login(url) == encoded_url
    assert encode_login(encoded_url) == encoded_url
    assert show(encoded_url) == show(url) == label


@pytest.mark.parametrize(
    ("url", "host"),
    [("rtsp://u:s3@cret@10.0.0.5:554/1", "10.0.0.5"), ("http://[::1]:80/", "::1"), ("rtsp:", "")],
)
def test_the_host_is_what_follows_the_password(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(("url", "how"), WRONG)
def test_a_url_that_cannot_be_understood_is_told_without_its_parts(
    url: str, how: str, tmp_path: Path
) -> None:
    """A password with a character that ends a login is told how to write it."""
    file = tmp_path / "CAMERAS.toml"
    file.write_text(f'[[cameras]]\nname = "gate"\nurl = {json.dumps(url)}\n')
    with pytest.raises(SettingsError, match=rf"CAMERAS\.toml: .*url: .*{how}") as failure:
        read_configuration(file)
    assert not [part for part in PARTS if part in str(failure.value)]
    if how:
        assert (show(url), host_of(url)) == ("the camera", "")


@pytest.mark.parametrize("url", ["clip#1@2.mp4", "/dev/video0", "file:///a@b/c?d", "udp://@:1234"])
def test_files_and_other_sources_are_left_as_they_are(url: str) -> None:
    check_url(url)
    assert encode_login(url) == url
