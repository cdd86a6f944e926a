"""Self-signed TLS certificates, and servers that use them."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client.peers import Handle


@dataclass(frozen=True)
class PemFiles:
    """PEM files of a self-signed certificate and its key."""

    chain: Path
    private_key: Path


def make_certificate(folder: Path, names: str) -> PemFiles:
    """Make a certificate; skip the test without OpenSSL.

    Args:
        folder: For its files.
        names: Hosts of the certificate in OpenSSL's notation: `DNS:localhost,IP:127.0.0.1`.
    """
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl, which makes a certificate")
    certificate = PemFiles(folder / "chain.pem", folder / "key.pem")
    command = (
        "openssl req -x509 -days 2 -subj /CN=test -nodes -newkey ec -pkeyopt "
        "ec_paramgen_curve:prime256v1 -addext keyUsage=critical,digitalSignature,keyCertSign"
    )
    files = [
        "-addext",
        f"subjectAltName={names}",
        "-out",
        certificate.chain,
        "-keyout",
        certificate.private_key,
    ]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    return certificate


def over_tls(handle: Handle, certificate: PemFiles) -> Handle:
    """Wrap a connection handler in TLS; connections whose handshake fails are closed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.private_key)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as tls_connection:
            handle(tls_connection)

    return serve
