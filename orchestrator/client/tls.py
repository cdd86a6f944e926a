"""Trusted certificate authorities for TLS: those of the system, or of one file."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import grpc

from orchestrator.client.sockets import TimedTlsSocket
from orchestrator.errors import SettingsError

VARIABLE = "SSL_CERT_FILE"
"""Environment variable for a PEM file of authorities that are trusted instead of the system's."""


def make_context() -> ssl.SSLContext:
    """Return a TLS context that checks certificates and their host names.

    Raises:
        SettingsError: The file that `SSL_CERT_FILE` names cannot be read or holds no certificate.
    """
    file = os.environ.get(VARIABLE) or None
    try:
        context = ssl.create_default_context(cafile=file)
    except OSError as error:  # includes errors of ssl
        raise SettingsError(
            f"{VARIABLE}: wanted a file of certificates (PEM), got {file}: "
            f"{error.strerror or error}"
        ) from error
    context.sslsocket_class = TimedTlsSocket
    return context


def make_credentials() -> grpc.ChannelCredentials:
    """Return TLS credentials for gRPC, with the same checks.

    gRPC does not find the system's authorities by itself. If Python knows only a folder of them,
    and no file, gRPC's own authorities are used.

    Raises:
        SettingsError: The same errors as from `make_context`.
    """
    make_context()  # reports faults of the file; gRPC would only fail to connect
    file = os.environ.get(VARIABLE) or ssl.get_default_verify_paths().cafile
    return grpc.ssl_channel_credentials(Path(file).read_bytes() if file else None)
