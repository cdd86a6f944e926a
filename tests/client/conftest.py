"""Certificates for the tests of TLS; each is made once."""

import pytest

from tests.client.certificates import Certificate, make_certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """For this machine."""
    names = "DNS:localhost,IP:127.0.0.1"
    return make_certificate(tmp_path_factory.mktemp("certificate"), names)


@pytest.fixture(scope="session")
def anothers(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """For another host."""
    return make_certificate(tmp_path_factory.mktemp("anothers"), "DNS:elsewhere.test")
