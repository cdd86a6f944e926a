"""Cameras with TLS, and the certificates that are trusted."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_cameras.configuration import Camera
from plate_cameras.sources.decoders import Decoders
from plate_cameras.sources.status import Limits
from tests.client.certificates import PemFiles, make_certificate
from tests.plate_cameras.clips import street
from tests.plate_cameras.servers import check_gstreamer, http_camera, rtsp_camera
from tests.plate_cameras.sources.network.two_minutes import read_number, write_clip
from tests.plate_cameras.streams import take, wait

pytestmark = pytest.mark.server
HOST = "IP:127.0.0.1"
LIMITS = Limits(open_s=5, read_s=5, first_pause_s=0.1, max_pause_s=0.5)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> PemFiles:
    return make_certificate(tmp_path_factory.mktemp("certificate"), HOST)


@pytest.fixture(scope="module")
def rtsps(certificate: PemFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a camera that speaks RTSP over TLS."""
    check_gstreamer()
    clip = write_clip(tmp_path_factory.mktemp("clip"), 50)
    with rtsp_camera(clip, certificate.chain, certificate.private_key) as camera:
        yield camera.url


@pytest.fixture(scope="module")
def https(certificate: PemFiles) -> Iterator[str]:
    with http_camera(street(50), certificate.chain, certificate.private_key) as camera:
        yield camera.url().replace("http://", "https://")


@pytest.fixture(params=["rtsps", "https"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def take_jpeg(camera: Camera) -> bytes:
    """Return a frame of a camera."""

    async def run() -> bytes:
        async with Decoders(limits=LIMITS) as decoders:
            stream = decoders.open(camera)
            (frame,) = await take(stream, 1)
            assert stream.status.reconnects == 0
            return frame.jpeg

    return asyncio.run(run())


def test_a_trusted_certificate_is_accepted(url: str, certificate: PemFiles) -> None:
    assert take_jpeg(Camera("gate", url, tls_ca_file=certificate.chain, motion_threshold=0))


@pytest.mark.parametrize("trust", ["system", "another", "of another host"])
def test_a_certificate_that_is_not_trusted_is_refused(
    url: str, trust: str, certificate: PemFiles, tmp_path: Path
) -> None:
    """Check that the camera gives no frames, and that the error names the reason."""
    camera = {
        "system": Camera("gate", url),
        "another": Camera("gate", url, tls_ca_file=make_certificate(tmp_path, HOST).chain),
        "of another host": Camera(
            "gate", url.replace("127.0.0.1", "localhost"), tls_ca_file=certificate.chain
        ),
    }[trust]

    async def run() -> None:
        async with Decoders(limits=LIMITS) as decoders:
            stream = decoders.open(camera)
            await wait(lambda: stream.status.reconnects >= 1, "a refusal")
            assert "its certificate is not trusted" in stream.status.last_error
            assert stream.status.decoded == 0

    asyncio.run(run())


def test_nothing_is_verified_if_the_settings_say_so(rtsps: str) -> None:
    jpeg = take_jpeg(Camera("gate", rtsps, verify_tls=False, motion_threshold=0))
    assert read_number(jpeg) < 50
