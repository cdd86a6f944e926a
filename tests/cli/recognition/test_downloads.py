"""Pictures from a real web server on this machine."""

import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest

from orchestrator.cli.recognition.address_policy import AddressPolicy
from orchestrator.cli.recognition.downloads import fetch, is_url, picture_at
from orchestrator.errors import PictureError
from tests.client.certificates import make_certificate, over_tls
from tests.client.peers import listening
from tests.http_servers import QuietHandler, running_http

PICTURE = b"a picture" * 1000


class Pages(QuietHandler, BaseHTTPRequestHandler):
    is_over = threading.Event()
    access: ClassVar[list[str]] = []
    credentials: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        address = "{}:{}".format(*self.server.server_address[:2])
        redirects = {
            "/moved": "/car.jpg", "/to-file": "file:///etc/passwd", "/circle": "/circle",
            "/whole": f"http://{address}/car.jpg",
            "/by-name": f"http://{address}/car.jpg".replace("127.0.0.1", "localhost"),
            "/aside": f"http://{address}/car.jpg".replace("0.1", "0.2"),
        }  # fmt: skip
        self.access.append(self.path)
        self.credentials.append(self.headers.get("authorization", ""))
        status = 302 if self.path in redirects else 404 if self.path == "/gone" else 200
        self.send_response(status)
        if self.path in redirects:
            self.send_header("Location", redirects[self.path])
        self.end_headers()
        if self.path == "/slow":
            while not self.is_over.wait(0.02):
                self.wfile.write(b".")
        if status == 200:
            self.wfile.write(PICTURE)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """A web server's URL."""
    with running_http(Pages) as server:
        yield f"http://127.0.0.1:{server.server_port}"
        Pages.is_over.set()


@pytest.mark.parametrize(
    ("user", "credentials"),
    [
        pytest.param("admin:pw@", "admin:pw", id="plain"),
        pytest.param("admin:p%40s%3as@", "admin:p@s:s", id="quoted"),
        pytest.param("admin:p@ss@", "admin:p@ss", id="with an at sign"),
        pytest.param("admin@", "admin:", id="no password"),
    ],
)
def test_a_user_and_password_are_sent_and_never_shown(
    web: str, user: str, credentials: str
) -> None:
    Pages.credentials.clear()
    source = picture_at(web.replace("http://", f"http://{user}") + "/moved", AddressPolicy.TYPED)
    assert source.read() == PICTURE
    assert Pages.credentials == [f"Basic {b64encode(credentials.encode()).decode()}"] * 2
    assert source.name == f"{web}/moved"
    with pytest.raises(PictureError) as failure:
        fetch(f"http://{user}127.0.0.1:1/car.jpg", AddressPolicy.TYPED)
    assert "admin" not in str(failure.value)


def test_another_host_gets_no_password(web: str) -> None:
    Pages.credentials.clear()
    fetch(web.replace("http://", "http://admin:pw@") + "/by-name", AddressPolicy.ALL)
    assert Pages.credentials == ["Basic YWRtaW46cHc=", ""]


def test_a_certificate_that_is_not_trusted_is_one_sentence(tmp_path, capfd) -> None:
    certificate = make_certificate(tmp_path, "DNS:localhost")
    message = r"^cannot be fetched: its certificate is not trusted: self-signed certificate. SSL_"
    server = listening(over_tls(lambda _: None, certificate))
    with server as address, pytest.raises(PictureError, match=message):
        fetch(f"https://{address.replace('127.0.0.1', 'localhost')}/car.jpg", AddressPolicy.TYPED)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("{web}/gone", "wanted a picture, got HTTP 404 Not Found", id="nothing-there"),
        pytest.param("{web}/circle", "cannot be fetched: too many redirects", id="circles"),
        pytest.param("{web}/to-file", "cannot be fetched: .*", id="redirects-to-a-file"),
        pytest.param("{web}/aside", r"^wanted a public address, got 127\.0\.0\.2", id="private"),
        pytest.param("http://127.0.0.1:1/x", "cannot be fetched: .*refused", id="refused"),
    ],
)
def test_a_failed_download_is_an_error(web: str, url: str, reason: str) -> None:
    with pytest.raises(PictureError, match=reason):
        fetch(url.format(web=web), AddressPolicy.TYPED)


def test_a_url_of_a_list_to_this_machine_is_refused_and_not_asked_for(web: str) -> None:
    Pages.access.clear()
    with pytest.raises(PictureError, match=r"^wanted a public address, got 127\.0\.0\.1 for 127\."):
        fetch(f"{web}/car.jpg", AddressPolicy.PUBLIC)
    assert Pages.access == []


def test_a_redirect_to_a_private_address_is_followed_where_it_is_allowed(web: str) -> None:
    assert fetch(f"{web}/whole", AddressPolicy.ALL) == PICTURE


def test_a_connection_that_was_allowed_does_not_serve_others(web: str) -> None:
    for policy in (AddressPolicy.TYPED, AddressPolicy.ALL):
        assert fetch(f"{web}/car.jpg", policy) == PICTURE
    with pytest.raises(PictureError, match="wanted a public address"):
        fetch(f"{web}/car.jpg", AddressPolicy.PUBLIC)


def test_a_picture_that_is_too_large_or_too_slow_is_not_received_whole(web: str) -> None:
    with pytest.raises(PictureError, match="got a larger one"):
        fetch(f"{web}/car.jpg", AddressPolicy.ALL, max_bytes=100)
    with pytest.raises(PictureError, match="wanted a picture in time, got a part of one"):
        fetch(f"{web}/slow", AddressPolicy.ALL, max_duration_s=0.2)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://x.example/a/car.jpg", "car.jpg"),
        ("http://x.example/a/car%20red.jpg?size=1", "car red.jpg"),
        ("HTTPS://x.example", "picture"),
        ("http://x.example/..%2f..", "picture"),
        ("http://[half", "picture"),
    ],
)
def test_a_url_is_kept_and_gives_a_file_a_name(url: str, name: str) -> None:
    assert is_url(url)
    assert picture_at(url, AddressPolicy.PUBLIC).name == url
    assert str(picture_at(url, AddressPolicy.PUBLIC).below) == name


@pytest.mark.parametrize("name", ["car.jpg", "ftp://x/car.jpg", "file:///etc/passwd", "https"])
def test_other_names_are_paths(name: str) -> None:
    assert not is_url(name)
