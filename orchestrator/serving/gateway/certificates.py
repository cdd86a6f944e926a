"""The gateway's TLS certificate. When its files change, new connections get the new one.

Its last moment is read from its file, because Python's ssl does not tell it. Source: RFC 5280,
section 4.1 (Certificate); ITU-T X.690, section 8.1 (DER).
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import grpc

from orchestrator.errors import ServerError
from orchestrator.host.disk_files import stamp_of

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
        self._is_broken = False
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
        """Read the files if they have changed. Unusable files are logged and ignored.

        They are read at each look until they can be used: the reason may have been this machine.
        """
        stamps = [stamp_of(file) for file in self.files]
        is_changed = stamps != self._stamps
        if not is_changed and not self._is_broken:
            return
        self._stamps, self._is_broken = stamps, True
        try:
            self._load()
            for context in self._contexts:
                context.load_cert_chain(*self.files)
        except OSError as error:
            if is_changed:
                logger.error("the new certificate cannot be used, the old one stays: %s", error)
        else:
            self._is_broken = False
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


PEM = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.ASCII | re.DOTALL)
VERSION, SEQUENCE, UTC_TIME = 0xA0, 0x30, 0x17
BEFORE_VALIDITY = 3  # fields of a certificate after its version: serial, algorithm, issuer
FIRST_SHORT_YEAR = 50  # RFC 5280: a year of two digits from here on is of the 20th century


def expiry_of(chain: bytes) -> float:
    """Return the Unix time at which the first certificate of a chain expires.

    Args:
        chain: PEM text of one certificate or more.

    Raises:
        ValueError: There is none, or one that is damaged.
    """
    certificates = PEM.findall(chain.decode("ascii", "replace"))
    return min(_expiry_of(ssl.PEM_cert_to_DER_cert(certificate)) for certificate in certificates)


def _expiry_of(der: bytes) -> float:
    """Return the Unix time at which a certificate expires."""
    try:
        fields = _enter(_enter(der))
        if fields[0] == VERSION:
            fields = _skip(fields)
        for _ in range(BEFORE_VALIDITY):
            fields = _skip(fields)
        last = _skip(_enter(fields))
        return _time_of(last[0], _content_of(last).decode("ascii"))
    except IndexError as error:
        raise ValueError("certificate: wanted DER, got a part") from error


def _enter(der: bytes) -> bytes:
    """Return the fields of a sequence."""
    if der[0] != SEQUENCE:
        raise ValueError(f"certificate: wanted a sequence, got tag {der[0]}")
    return _content_of(der)


def _skip(der: bytes) -> bytes:
    """Return what follows the first value."""
    return der[_span_of(der)[1] :]


def _content_of(der: bytes) -> bytes:
    begin, end = _span_of(der)
    return der[begin:end]


def _span_of(der: bytes) -> tuple[int, int]:
    """Return begin and end of the content of the first value."""
    size, begin = der[1], 2
    if size >= 0x80:  # the long form: so many bytes of the size follow
        begin += size - 0x80
        size = int.from_bytes(der[2:begin], "big")
    return begin, begin + size


def _time_of(tag: int, text: str) -> float:
    if tag == UTC_TIME:
        text = f"{19 if int(text[:2]) >= FIRST_SHORT_YEAR else 20}{text}"
    moment = datetime.strptime(text, "%Y%m%d%H%M%SZ")
    return moment.replace(tzinfo=timezone.utc).timestamp()
