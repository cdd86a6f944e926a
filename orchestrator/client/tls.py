"""Whose certificates are trusted: those of the system's authorities, or of one file's."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import grpc

from orchestrator.client.connections import TimedTlsSocket
from orchestrator.errors import SettingsError

VARIABLE = "SSL_CERT_FILE"
"""Names a file of certificate authorities, PEM, that are trusted in place of the system's."""


def make_context() -> ssl.SSLContext:
    """Return TLS that checks certificates and for whom they are.

    Raises:
        SettingsError: The file that `SSL_CERT_FILE` names cannot be read or holds no certificate.
    """
    file = os.environ.get(VARIABLE) or None
    try:
        context = ssl.create_default_context(cafile=file)
    except OSError as error:  # also of ssl
        raise SettingsError(
            f"{VARIABLE}: wanted a file of certificates (PEM), got {file}: "
            f"{error.strerror or error}"
        ) from error
    context.sslsocket_class = TimedTlsSocket
    return context


def make_credentials() -> grpc.ChannelCredentials:
    """Return the same for gRPC.

    gRPC finds no authorities of the system by itself. Where Python, too, knows no file of them,
    only of a folder, they are those that gRPC brings along.

    Raises:
        SettingsError: As from `make_context`.
    """
    make_context()  # says what is wrong with the file; gRPC would only fail to connect
    file = os.environ.get(VARIABLE) or ssl.get_default_verify_paths().cafile
    return grpc.ssl_channel_credentials(Path(file).read_bytes() if file else None)
