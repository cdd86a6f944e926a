"""Connections with TLS: trust in certificates, and answers that come early."""

import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from orchestrator.client import PlateClient
from orchestrator.client.sockets import TimedSocket, make_context, start_tls
from orchestrator.errors import RequestError, ServerError, SettingsError
from tests.client.certificates import PemFiles, over_tls
from tests.client.peers import (
    NO_PLATES,
    NO_PLATES_OVER_GRPC,
    answer_all,
    listening,
    listening_over_grpc,
    reply,
)


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    return lambda file: monkeypatch.setenv("SSL_CERT_FILE", str(file))


@pytest.fixture
def https() -> Iterator[Callable[[PemFiles], str]]:
    """Start a server that finds no plates; yield its URL."""
    with ExitStack() as stack:
        yield (
            lambda certificate: (
                "https://" + stack.enter_context(listening(over_tls(answer_all, certificate)))
            )
        )


@pytest.fixture
def grpcs() -> Iterator[Callable[[PemFiles], str]]:
    """Start a server that finds no plates; yield its URL."""
    with ExitStack() as stack:

        def start(certificate: PemFiles) -> str:
            pair = (certificate.private_key.read_bytes(), certificate.chain.read_bytes())
            credentials = grpc.ssl_server_credentials([pair])
            return stack.enter_context(
                listening_over_grpc(lambda *_: NO_PLATES_OVER_GRPC, credentials)
            )

        yield start


@pytest.fixture(params=["https", "grpcs"])
def serve(request: pytest.FixtureRequest) -> Callable[[PemFiles], str]:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_trusted_certificate_of_the_host_will_do(
    serve, trust, recognize, certificate: PemFiles, host: str
) -> None:
    trust(certificate.chain)
    assert len(recognize(serve(certificate).replace("127.0.0.1", host))) == 0


def test_an_untrusted_certificate_is_an_error(
    serve, trust, recognize, certificate: PemFiles, anothers: PemFiles
) -> None:
    trust(anothers.chain)
    url = serve(certificate)
    message = f"^{url}: wanted a certificate that is trusted for this host, got: self.signed"
    with pytest.raises(ServerError, match=message):
        recognize(url)


def test_a_certificate_of_another_host_is_an_error(
    serve, trust, recognize, anothers: PemFiles
) -> None:
    trust(anothers.chain)
    url = serve(anothers)
    message = f"^{url}: wanted a certificate that is trusted for this host, got: (IP addr|Hostname)"
    with pytest.raises(ServerError, match=message):
        recognize(url)


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        pytest.param("https", "got what is no TLS; for HTTP without TLS write http://", id="TLS"),
        pytest.param("grpc", "got what is no gRPC; for HTTP write http://", id="gRPC"),
    ],
)
def test_plain_http_under_another_scheme_is_an_error(
    trust, recognize, certificate: PemFiles, scheme: str, message: str
) -> None:
    trust(certificate.chain)

    def answer_in_clear(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(NO_PLATES)

    with (
        listening(answer_in_clear) as address,
        pytest.raises(ServerError, match=f"wanted an answer, {message}"),
    ):
        recognize(f"{scheme}://{address}")


def test_a_response_is_read_after_the_server_has_closed(trust, certificate: PemFiles) -> None:
    trust(certificate.chain)
    here, there = socket.socketpair()

    def answer_and_hang_up(connection: socket.socket) -> None:
        connection.sendall(NO_PLATES)

    with there, ThreadPoolExecutor(1) as threads:
        future = threads.submit(over_tls(answer_and_hang_up, certificate), there)
        sock = TimedSocket(fileno=here.detach())
        sock.settimeout(20)
        with start_tls(sock, make_context(), "localhost") as tls_socket:
            future.result(timeout=20)
            with pytest.raises(BrokenPipeError):  # which urllib3 takes for no reason not to listen
                tls_socket.sendall(b"the rest of a picture")
            assert tls_socket.recv(65536) == NO_PLATES


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("missing.pem", "No such file", id="missing"),
        pytest.param("empty.pem", "(?i:no.certificate)", id="empty"),
    ],
)
def test_a_file_without_authorities_is_an_error_at_once(
    trust, tmp_path: Path, scheme: str, name: str, reason: str
) -> None:
    (tmp_path / "empty.pem").touch()
    trust(tmp_path / name)
    message = rf"^SSL_CERT_FILE: wanted a file of certificates \(PEM\), got .*{name}: .*{reason}"
    with pytest.raises(SettingsError, match=message):
        PlateClient(f"{scheme}://localhost:8443")


def test_without_such_a_file_the_system_s_authorities_are_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    context = make_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    PlateClient("grpcs://localhost:8443").close()


def test_without_tls_no_authorities_are_read(trust, tmp_path: Path) -> None:
    trust(tmp_path / "missing.pem")
    PlateClient("localhost:8000").close()


# The unsent rest waits in the closed connection, and the loop may end before the system drops it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_answer_before_the_whole_picture_was_taken_is_read(
    trust, recognize, scheme: str, certificate: PemFiles
) -> None:
    """A proxy that allows no such picture answers at once, and closes the connection."""

    def handle(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(reply(413, b"large"))

    trust(certificate.chain)
    server = handle if scheme == "http" else over_tls(handle, certificate)
    with listening(server) as address:
        for _ in range(5):  # a write that fails before the answer is read is a matter of chance
            with pytest.raises(RequestError, match="HTTP 413"):
                recognize(f"{scheme}://{address}", picture=b"x" * 5_000_000)
