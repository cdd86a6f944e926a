"""The last moment of a certificate, read from its file: Python's ssl does not tell it.

Source: RFC 5280, section 4.1 (Certificate); ITU-T X.690, section 8.1 (DER).
"""

from __future__ import annotations

import re
import ssl
from datetime import datetime, timezone

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
    found = PEM.findall(chain.decode("ascii", "replace"))
    return min(_expiry_of(ssl.PEM_cert_to_DER_cert(one)) for one in found)


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
