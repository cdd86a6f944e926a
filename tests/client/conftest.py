"""Both clients, and certificates for the tests of TLS, each of which is made once."""

import asyncio
from collections.abc import Callable

import pytest

from orchestrator.client import PlateClient
from orchestrator.client.aio import AsyncPlateClient
from orchestrator.plates import Plates
from tests.client.certificates import PemFiles, make_certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> PemFiles:
    """For this machine."""
    names = "DNS:localhost,IP:127.0.0.1"
    return make_certificate(tmp_path_factory.mktemp("certificate"), names)


@pytest.fixture(scope="session")
def anothers(tmp_path_factory: pytest.TempPathFactory) -> PemFiles:
    """For another host."""
    return make_certificate(tmp_path_factory.mktemp("anothers"), "DNS:elsewhere.test")


def recognize_with_threads(
    url: str = "localhost:8000", *, picture: object = b"a picture", **options: object
) -> Plates:
    with PlateClient(url, **{"timeout_s": 20, **options}) as client:
        return client.recognize(picture)


def recognize_with_asyncio(
    url: str = "localhost:8000", *, picture: object = b"a picture", **options: object
) -> Plates:
    async def run() -> Plates:
        async with AsyncPlateClient(url, **{"timeout_s": 20, **options}) as client:
            return await client.recognize(picture)

    return asyncio.run(run())


@pytest.fixture(params=[recognize_with_threads, recognize_with_asyncio], ids=["threads", "asyncio"])
def recognize(request: pytest.FixtureRequest) -> Callable[..., Plates]:
    """Recognise a picture with each of the clients, which live for this call."""
    return request.param
