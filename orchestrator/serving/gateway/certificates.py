"""The gateway's TLS certificate. When its files change, new connections get the new one."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Sequence
from pathlib import Path

import grpc

from orchestrator.errors import ServerError
from orchestrator.host.disk_files import stamp_of
from orchestrator.serving.gateway.certificate_dates import expiry_of

EVERY_S = 10.0
"""Seconds between two looks at the files."""
logger = logging.getLogger(__name__)


class Certificate:
    """A certificate with its chain and its private key, PEM files that may be replaced.

    Args:
        chain: The file of the certificate and its chain.
        private_key: The file of its key.

    Attributes:
        expires: Unix time at which it, or a certificate of its chain, expires; None for unknown.

    Raises:
        ServerError: They cannot be read, or do not belong together.
    """

    def __init__(self, chain: Path, private_key: Path) -> None:
        self.files = chain, private_key
        self._stamps = [stamp_of(file) for file in self.files]
        self._contexts: list[ssl.SSLContext] = []
        try:
            self._load()
        except OSError as error:  # ssl.SSLError is one
            raise ServerError(f"certificate: cannot be used: {error.strerror or error}") from error

    @property
    def name(self) -> str:
        """Name of the certificate's file, without its folder."""
        return self.files[0].name

    def serve_with(self, contexts: Sequence[ssl.SSLContext]) -> None:
        """Keep these contexts of HTTP servers at the newest certificate."""
        self._contexts += contexts

    def to_grpc(self) -> grpc.ServerCredentials:
        """Return the credentials of a gRPC server, which asks for the newest certificate."""
        return grpc.dynamic_ssl_server_credentials(
            self._configure(), self._configure, require_client_authentication=False
        )

    async def watch(self) -> None:
        """Look at the files for ever."""
        while True:
            await asyncio.sleep(EVERY_S)
            self.refresh()

    def refresh(self) -> None:
        """Read the files if they have changed. Unusable files are logged and ignored."""
        stamps = [stamp_of(file) for file in self.files]
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            self._load()
            for context in self._contexts:
                context.load_cert_chain(*self.files)
        except OSError as error:
            logger.error("the new certificate cannot be used, the old one stays: %s", error)
        else:
            logger.warning("new connections get the new certificate")

    def _configure(self) -> grpc.ServerCertificateConfiguration:
        return grpc.ssl_server_certificate_configuration([self.pair])

    def _load(self) -> None:
        self.pair = self._read()
        try:
            self.expires: float | None = expiry_of(self.pair[1])
        except ValueError as error:
            self.expires = None
            logger.warning("cannot tell when the certificate expires: %s", error)

    def _read(self) -> tuple[bytes, bytes]:
        """Return key and certificate chain for gRPC, after a check that they match."""
        chain, key = self.files
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key)
        return key.read_bytes(), chain.read_bytes()
