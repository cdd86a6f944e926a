"""Certificates that a client trusts, and its errors about others."""

import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from orchestrator.client import PlateClient
from orchestrator.client.sockets import TimedSocket, start_tls
from orchestrator.client.tls import make_context
from orchestrator.errors import ServerError, SettingsError
from tests.client.certificates import Certificate, over_tls
from tests.client.peers import (
    NO_PLATES,
    NO_PLATES_OVER_GRPC,
    answer_all,
    listening,
    listening_over_grpc,
    receive,
)

PICTURE = b"a picture"


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    return lambda file: monkeypatch.setenv("SSL_CERT_FILE", str(file))


@pytest.fixture
def https() -> Iterator[Callable[[Certificate], str]]:
    """Start a server that finds no plates; gives its URL."""
    with ExitStack() as stack:
        yield (
            lambda certificate: (
                "https://" + stack.enter_context(listening(over_tls(answer_all, certificate)))
            )
        )


@pytest.fixture
def grpcs() -> Iterator[Callable[[Certificate], str]]:
    """Start a server that finds no plates; gives its URL."""
    with ExitStack() as stack:

        def start(certificate: Certificate) -> str:
            pair = (certificate.private_key.read_bytes(), certificate.chain.read_bytes())
            credentials = grpc.ssl_server_credentials([pair])
            return stack.enter_context(
                listening_over_grpc(lambda *_: NO_PLATES_OVER_GRPC, credentials)
            )

        yield start


@pytest.fixture(params=["https", "grpcs"])
def serve(request: pytest.FixtureRequest) -> Callable[[Certificate], str]:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_trusted_certificate_of_the_host_will_do(
    serve, trust, certificate: Certificate, host: str
) -> None:
    trust(certificate.chain)
    url = serve(certificate).replace("127.0.0.1", host)
    with PlateClient(url, timeout_s=20) as client:
        assert len(client.recognize(PICTURE)) == 0


def test_an_untrusted_certificate_is_an_error(
    serve, trust, certificate: Certificate, anothers: Certificate
) -> None:
    trust(anothers.chain)
    url = serve(certificate)
    message = f"^{url}: wanted a certificate that is trusted for this host, got: self.signed"
    with PlateClient(url, timeout_s=20) as client, pytest.raises(ServerError, match=message):
        client.recognize(PICTURE)


def test_a_certificate_of_another_host_is_an_error(serve, trust, anothers: Certificate) -> None:
    trust(anothers.chain)
    url = serve(anothers)
    message = f"^{url}: wanted a certificate that is trusted for this host, got: (IP addr|Hostname)"
    with PlateClient(url, timeout_s=20) as client, pytest.raises(ServerError, match=message):
        client.recognize(PICTURE)


def test_a_server_without_tls_is_an_error(trust, certificate: Certificate) -> None:
    trust(certificate.chain)

    def answer_in_clear(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(NO_PLATES)

    with (
        listening(answer_in_clear) as address,
        PlateClient(f"https://{address}", timeout_s=20) as client,
        pytest.raises(ServerError, match=r"wanted an answer, got .*(?i:wrong.version)"),
    ):
        client.recognize(PICTURE)


def test_a_connection_is_kept_and_replaced_when_it_was_closed(
    trust, certificate: Certificate
) -> None:
    trust(certificate.chain)
    calls: list[int] = []

    def answer_two_and_take_one_more(connection: socket.socket) -> None:
        for _ in range(2):
            receive(connection)
            calls.append(connection.fileno())
            connection.sendall(NO_PLATES)
        receive(connection)

    with (
        listening(over_tls(answer_two_and_take_one_more, certificate)) as address,
        PlateClient(f"https://{address}", timeout_s=20) as client,
    ):
        assert [len(client.recognize(PICTURE)) for _ in range(4)] == [0] * 4
    assert (len(calls), client.retried) == (4, 0)


def test_a_response_is_read_after_the_server_has_closed(trust, certificate: Certificate) -> None:
    trust(certificate.chain)
    here, there = socket.socketpair()

    def answer_and_hang_up(connection: socket.socket) -> None:
        connection.sendall(NO_PLATES)

    with there, ThreadPoolExecutor(1) as threads:
        done = threads.submit(over_tls(answer_and_hang_up, certificate), there)
        opened = TimedSocket(fileno=here.detach())
        opened.settimeout(20)
        with start_tls(opened, make_context(), "localhost") as secured:
            done.result(timeout=20)
            with pytest.raises(BrokenPipeError):  # which urllib3 takes for no reason not to listen
                secured.sendall(b"the rest of a picture")
            assert secured.recv(65536) == NO_PLATES


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
