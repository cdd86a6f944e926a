"""The last moment of certificates, as another library made them."""

from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchestrator.serving.gateway.certificate_dates import expiry_of

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
def test_the_last_second_of_a_certificate_is_found(last: datetime) -> None:
    assert expiry_of(certificate(last)) == last.timestamp()


def test_a_long_name_is_skipped() -> None:
    last = datetime(2030, 1, 1, tzinfo=timezone.utc)
    assert expiry_of(certificate(last, "n" * 64)) == last.timestamp()


def test_the_first_of_a_chain_that_expires_counts() -> None:
    first, second = (datetime(2030 + year, 1, 1, tzinfo=timezone.utc) for year in (0, 1))
    chain = b"a comment\n" + certificate(second) + b"\n" + certificate(first)
    assert expiry_of(chain) == first.timestamp()


@pytest.mark.parametrize(
    "chain",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff", id="bytes"),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----", id="nothing in it"
        ),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nAgEB\n-----END CERTIFICATE-----", id="a number"
        ),
    ],
)
def test_what_is_no_certificate_is_an_error(chain: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        expiry_of(chain)
