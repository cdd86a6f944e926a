"""URLs that a source may open, in particular redirects."""

import pytest

from plate_cameras.sources.network.policy import follow

CAMERA = "http://admin:p%40ss@10.0.0.5:8080/video?a=1"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        pytest.param("/other?b=2", "/other?b=2", id="a path"),
        pytest.param("other", "/other", id="a relative path"),
        pytest.param("?b=2", "/video?b=2", id="a query"),
        pytest.param("http://10.0.0.5:8080/x", "/x", id="the whole address"),
        pytest.param("//10.0.0.5:8080/x", "/x", id="without a scheme"),
        pytest.param("http://other:login@10.0.0.5:8080/x#part", "/x", id="another login"),
        pytest.param("http://10.0.0.6\\@10.0.0.5:8080/x", "/x", id="a host as a login"),
    ],
)
def test_the_same_host_and_port_are_followed_with_the_camera_s_login(
    location: str, target: str
) -> None:
    assert follow(CAMERA, location) == f"http://admin:p%40ss@10.0.0.5:8080{target}"


@pytest.mark.parametrize(
    "location",
    [
        "http://10.0.0.6:8080/",
        "http://10.0.0.5/",
        "http://10.0.0.5:8081/relay/0?turn=on",
        "//10.0.0.6:8080/",
        "https://10.0.0.5:8080/",
        "https://10.0.0.5/",
        "rtsp://10.0.0.5:8080/",
        "http://10.0.0.5:8080@10.0.0.6/",
        "http://10.0.0.5:8080.evil.example/",
        "http://10.0.0.5:99999/",
        "http://[::1/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "concat:http://10.0.0.5:8080/x|http://10.0.0.6/",
        "crypto+http://10.0.0.5:8080/",
        "tcp://10.0.0.5:8080",
        "http:/\x1b[31m/",
        "http://10.0.0.5:8080/a\r\nX: y",
    ],
)
def test_all_else_is_not(location: str) -> None:
    assert follow(CAMERA, location) is None


def test_a_camera_may_lead_to_its_own_https_but_not_back() -> None:
    assert follow("http://a:b@cam/x", "https://cam/x") == "https://a:b@cam/x"
    assert follow("http://cam:80/x", "https://cam:443/x") == "https://cam/x"
    assert follow("https://cam/x", "http://cam/x") is None
    assert follow("rtsp://cam/x", "rtsps://cam/x") is None


def test_rtsp_is_followed_likewise() -> None:
    assert follow("rtsp://a:b@cam/x", "rtsp://cam:554/y") == "rtsp://a:b@cam/y"
    assert follow("rtsps://cam/x/y", "z") == "rtsps://cam/x/z"
    assert follow("rtsp://cam/x", "rtsp://cam:80/relay") is None
    assert follow("rtsp://cam/x", "") == "rtsp://cam/x"
