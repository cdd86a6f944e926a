"""A certificate whose files are replaced: new connections of HTTP and gRPC get the new one."""

import asyncio
import shutil
import ssl
from pathlib import Path

import grpc
import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.gateway import certificates
from orchestrator.serving.gateway.certificates import Certificate
from tests.client.certificates import Certificate as Files
from tests.client.certificates import make_certificate


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Files]:
    """Two certificates for the same name."""
    folders = (tmp_path_factory.mktemp(name) for name in ("old", "new"))
    old, new = (make_certificate(folder, "DNS:localhost,IP:127.0.0.1") for folder in folders)
    return old, new


def install(files: Files, folder: Path) -> tuple[Path, Path]:
    shutil.copy(files.chain, folder / "chain.pem")
    shutil.copy(files.private_key, folder / "key.pem")
    return folder / "chain.pem", folder / "key.pem"


def der_of(files: Files) -> bytes:
    return ssl.PEM_cert_to_DER_cert(files.chain.read_text())


async def shown(port: int) -> bytes:
    """Return the certificate that a server shows to a new connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return certificate


async def until_new(certificate: Certificate, new: Files) -> None:
    while certificate.pair[1] != new.chain.read_bytes():
        await asyncio.sleep(0.01)


def test_new_connections_get_the_new_certificate(
    made: tuple[Files, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "EVERY_S", 0.01)
    old, new = made

    async def run() -> tuple[list[bytes], list[bytes]]:
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
        before = [await shown(port) for port in ports]
        install(new, tmp_path)
        await asyncio.wait_for(until_new(certificate, new), 10)
        after = [await shown(port) for port in ports]
        watch.cancel()
        http.close()
        await rpc.stop(None)
        return before, after

    before, after = asyncio.run(run())
    assert before == [der_of(old)] * 2
    assert after == [der_of(new)] * 2


def test_files_that_do_not_belong_together_leave_the_old_certificate(
    made: tuple[Files, Files], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = made
    certificate = Certificate(*install(old, tmp_path))
    pair = certificate.pair
    shutil.copy(new.chain, tmp_path / "chain.pem")  # its key comes later
    certificate.refresh()
    assert certificate.pair == pair
    assert "the old one stays" in caplog.text
    shutil.copy(new.private_key, tmp_path / "key.pem")
    certificate.refresh()
    assert certificate.pair == (new.private_key.read_bytes(), new.chain.read_bytes())


def test_files_that_are_gone_leave_the_old_certificate(
    made: tuple[Files, Files], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate = Certificate(*install(made[0], tmp_path))
    pair = certificate.pair
    (tmp_path / "key.pem").unlink()
    certificate.refresh()
    certificate.refresh()
    assert certificate.pair == pair
    assert caplog.text.count("the old one stays") == 1


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_certificate_that_cannot_be_used_is_an_error(tmp_path: Path, text: str | None) -> None:
    for name in ("chain.pem", "key.pem"):
        if text:
            (tmp_path / name).write_text(text)
    with pytest.raises(ServerError, match="certificate: cannot be used: "):
        Certificate(tmp_path / "chain.pem", tmp_path / "key.pem")
