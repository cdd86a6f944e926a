"""Certificates: new files reach new connections, and their last second is known."""

import asyncio
import errno
import shutil
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchestrator.errors import ServerError
from orchestrator.serving.gateway import certificates
from orchestrator.serving.gateway.certificates import Certificate, expiry_of
from tests.client.certificates import PemFiles, make_certificate
from tests.serving.gateway.loops import run


@pytest.fixture(scope="module")
def certificate_pair(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[PemFiles, PemFiles]:
    """Two certificates for the same name."""
    folders = (tmp_path_factory.mktemp(name) for name in ("old", "new"))
    old, new = (make_certificate(folder, "DNS:localhost,IP:127.0.0.1") for folder in folders)
    return old, new


def install(files: PemFiles, folder: Path) -> tuple[Path, Path]:
    shutil.copy(files.chain, folder / "chain.pem")
    shutil.copy(files.private_key, folder / "key.pem")
    return folder / "chain.pem", folder / "key.pem"


def der_of(files: PemFiles) -> bytes:
    return ssl.PEM_cert_to_DER_cert(files.chain.read_text())


async def read_certificate(port: int) -> bytes:
    """Return the certificate that a server shows to a new connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return certificate


@pytest.fixture
def run_coroutine() -> Callable:
    return run


async def test_new_connections_get_the_new_certificate(
    certificate_pair: tuple[PemFiles, PemFiles],
    tmp_path: Path,
    monkeypatch,
    run_coroutine: Callable,
) -> None:
    monkeypatch.setattr(certificates, "EVERY_S", 0.01)
    old, new = certificate_pair
    certificate = Certificate(*install(old, tmp_path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate.files)
    certificate.serve_with([context])
    http = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", 0, ssl=context)
    rpc = grpc.aio.server()
    ports = [http.sockets[0].getsockname()[1]]
    ports.append(rpc.add_secure_port("127.0.0.1:0", certificate.to_grpc()))
    await rpc.start()
    watch = asyncio.create_task(certificate.watch())
    assert [await read_certificate(port) for port in ports] == [der_of(old)] * 2
    install(new, tmp_path)
    while certificate.pair[1] != new.chain.read_bytes():
        await asyncio.sleep(0.01)
    assert [await read_certificate(port) for port in ports] == [der_of(new)] * 2
    watch.cancel()
    http.close()
    await rpc.stop(None)


def test_files_that_cannot_be_used_leave_the_old_certificate(
    certificate_pair: tuple[PemFiles, PemFiles], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = certificate_pair
    certificate = Certificate(*install(old, tmp_path))
    pair = certificate.pair
    shutil.copy(new.chain, tmp_path / "chain.pem")  # its key comes later
    certificate.refresh()
    (tmp_path / "key.pem").unlink()
    certificate.refresh()
    certificate.refresh()
    assert certificate.pair == pair
    assert caplog.text.count("the old one stays") == 2
    shutil.copy(new.private_key, tmp_path / "key.pem")
    certificate.refresh()
    assert certificate.pair == (new.private_key.read_bytes(), new.chain.read_bytes())


def test_files_that_could_not_be_read_once_are_read_again(
    certificate_pair: tuple[PemFiles, PemFiles], tmp_path: Path, monkeypatch, caplog
) -> None:
    old, new = certificate_pair
    certificate = Certificate(*install(old, tmp_path))

    def open_none(_file: Path) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    install(new, tmp_path)
    with monkeypatch.context() as machine:
        machine.setattr(Path, "read_bytes", open_none)
        certificate.refresh()
        certificate.refresh()
    assert caplog.text.count("the old one stays") == 1
    certificate.refresh()
    assert certificate.pair == (new.private_key.read_bytes(), new.chain.read_bytes())


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_certificate_that_cannot_be_used_is_an_error(tmp_path: Path, text: str | None) -> None:
    for name in ("chain.pem", "key.pem"):
        if text:
            (tmp_path / name).write_text(text)
    with pytest.raises(ServerError, match="certificate: cannot be used: "):
        Certificate(tmp_path / "chain.pem", tmp_path / "key.pem")


KEY = ec.generate_private_key(ec.SECP256R1())
DAY = timedelta(days=1)


def certificate(last: datetime, name: str = "localhost") -> bytes:
    """Return the PEM text of a certificate with its last second."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(last - DAY)
        .not_valid_after(last)
    )
    return builder.sign(KEY, SHA256()).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(datetime(2026, 5, 17, 9, 30, 59, tzinfo=timezone.utc), id="two digits"),
        pytest.param(datetime(1999, 12, 31, tzinfo=timezone.utc), id="of the last century"),
        pytest.param(datetime(2049, 12, 31, 23, 59, 59, tzinfo=timezone.utc), id="last of them"),
        pytest.param(datetime(2050, 1, 1, tzinfo=timezone.utc), id="four digits"),
    ],
)
def test_the_last_second_of_the_first_of_a_chain_that_expires_is_found(last: datetime) -> None:
    later = certificate(last + DAY, "n" * 64)
    assert expiry_of(b"a comment\n" + later + b"\n" + certificate(last)) == last.timestamp()


@pytest.mark.parametrize("content", [b"MAA=", b"AgEB"], ids=["nothing in it", "a number"])
def test_what_is_no_certificate_is_an_error(content: bytes) -> None:
    pem = b"-----BEGIN CERTIFICATE-----\n" + content + b"\n-----END CERTIFICATE-----"
    for chain in (b"", b"\xff", pem):
        with pytest.raises(ValueError, match=r"."):
            expiry_of(chain)
