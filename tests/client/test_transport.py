"""The public transports, the fake one of applications, and what the requests carry."""

import asyncio
import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from orchestrator import (
    AsyncPlateClient,
    FakeTransport,
    InferenceRequest,
    Overloaded,
    Plate,
    PlateClient,
    Plates,
    RequestError,
    ServerError,
    Settings,
)
from orchestrator.client.picture_encoding import Picture
from orchestrator.client.requests import PictureResult, make_crop_requests
from orchestrator.contract import CROP, ENCODED, OUTPUTS, Arrays, to_arrays
from orchestrator.errors import PictureError
from orchestrator.formats.transliteration import in_cyrillic
from orchestrator.imaging.files import CUT_NOTE
from orchestrator.plates import PlateCountry
from tests.fuzzing.file_parts import bmp, encode

PICTURE = b"a picture"
PLATE = Plate((10, 20, 110, 50), text="A123BC77", text_score=0.5, detection_score=0.25)
PLATES = Plates((PLATE,))
CORNERS = ((10, 20), (110, 20), (110, 50), (10, 50))


def test_the_plates_come_back() -> None:
    with PlateClient(transport=FakeTransport(PLATES)) as client:
        (plate,) = client.recognize(PICTURE)
    assert (plate.xyxy, plate.text, plate.text_score) == (PLATE.xyxy, "A123BC77", 0.5)
    assert plate.corners == CORNERS


def test_requests_are_recorded() -> None:
    transport = FakeTransport()
    with PlateClient(transport=transport) as client:
        client.recognize(PICTURE, max_plates=3, outputs=["texts"], request_id="gate-7")
    (request,) = transport.requests
    assert request.inputs[ENCODED].tolist() == [PICTURE]
    assert request.parameters == {"max_plates": 3}
    assert (request.outputs, request.request_id) == (("coordinates", "texts"), "gate-7")


@pytest.mark.parametrize(
    ("outputs", "country"),
    [
        pytest.param({}, PlateCountry("kz", 0.5), id="all"),
        pytest.param({"outputs": ["countries"]}, PlateCountry("kz", 0.5), id="named"),
        pytest.param({"outputs": ["texts"]}, None, id="not wanted"),
    ],
)
def test_the_country_comes_back(outputs: dict[str, list[str]], country: PlateCountry | None):
    plates = Plates((replace(PLATE, country=PlateCountry("kz", 0.5)),))
    with PlateClient(transport=FakeTransport(plates)) as client:
        (plate,) = client.recognize(PICTURE, **outputs)
    assert plate.country == country


def test_an_error_of_the_system_is_a_server_error() -> None:
    error = ConnectionRefusedError("refused")
    with (
        PlateClient("gate:1", transport=FakeTransport(error)) as client,
        pytest.raises(ServerError, match=r"^gate:1: wanted an answer, got refused \(request g7\)$"),
    ):
        client.recognize(PICTURE, request_id="g7")


def test_threads_get_one_result_each() -> None:
    transport = FakeTransport(*[PLATES] * 20, Plates())
    with PlateClient(transport=transport) as client:
        plate_counts = [len(result.plates) for result in client.recognize_many([PICTURE] * 40)]
    assert (sum(plate_counts), len(transport.requests)) == (20, 40)


def test_crops_are_read() -> None:
    transport = FakeTransport(PLATES)
    with PlateClient(transport=transport) as client:
        (plate,) = client.read_crops([np.zeros((30, 100, 3), np.uint8)])
    assert (plate.text, plate.xyxy) == ("A123BC77", (0, 0, 100, 30))
    assert transport.requests[0].inputs[CROP].shape == (30, 100, 3)


def test_an_error_about_a_crop_keeps_its_response() -> None:
    error = Overloaded("full")
    with (
        PlateClient(transport=FakeTransport(error)) as client,
        pytest.raises(Overloaded, match=r"^crop 0: full$") as failure,
    ):
        client.read_crops([np.zeros((30, 100, 3), np.uint8)])
    assert failure.value.response is error.response


def test_the_server_is_ready_and_has_default_settings() -> None:
    with PlateClient(transport=FakeTransport()) as client:
        assert client.is_ready()
        assert client.server_settings() == Settings()


def test_the_client_closes_it() -> None:
    transport = FakeTransport()
    client = PlateClient(transport=transport)
    client.close()
    assert transport.is_closed
    with pytest.raises(RequestError, match="the client is closed"):
        client.recognize(PICTURE)
    assert transport.requests == []


def test_the_asynchronous_client_takes_it() -> None:
    transport = FakeTransport(PLATES, Overloaded("full"))

    async def run() -> list[type]:
        async with AsyncPlateClient(transport=transport) as client:
            assert await client.is_ready()
            pictures = [PICTURE, io.BytesIO(PICTURE)]
            return [
                type(result.outcome)
                async for result in client.recognize_many(pictures, in_flight=1)
            ]

    assert asyncio.run(run()) == [Plates, Overloaded]
    assert transport.is_closed


class WaitingTransport:
    """A transport for asyncio that waits before it answers."""

    async def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
        await asyncio.sleep(0)
        return to_arrays(Plates(), request.outputs)

    async def close(self) -> None:
        await asyncio.sleep(0)


def test_a_transport_may_be_asynchronous() -> None:
    async def run() -> Plates:
        async with AsyncPlateClient(transport=WaitingTransport()) as client:
            return await client.recognize(PICTURE)

    assert asyncio.run(run()) == Plates()


def test_a_server_that_tells_no_countries_answers_as_before() -> None:
    class OneCountry(FakeTransport):
        def infer(self, request: InferenceRequest, timeout_s: float) -> Arrays:
            assert request.outputs == tuple(OUTPUTS)
            return to_arrays(Plates((replace(PLATE, corners=CORNERS),)), request.outputs)

    with PlateClient(transport=OneCountry()) as client:
        assert client.recognize(PICTURE) == Plates((replace(PLATE, corners=CORNERS),))


def test_the_client_for_threads_refuses_an_asynchronous_transport() -> None:
    client = PlateClient(transport=WaitingTransport())
    with pytest.raises(TypeError, match="use an AsyncPlateClient"):
        client.recognize(PICTURE)


def test_a_failure_is_never_a_picture_without_plates() -> None:
    picture_result = PictureResult("car.jpg", Overloaded("full"))
    assert str(picture_result.error) == "full"
    with pytest.raises(Overloaded, match="full"):
        picture_result.plates  # noqa: B018


JPEG = encode("JPEG", size_wh=(31, 17))


@pytest.mark.parametrize(
    ("picture", "is_cut"),
    [
        pytest.param(JPEG, False, id="whole"),
        pytest.param(JPEG[:-2], True, id="cut"),
        pytest.param(base64.b64encode(JPEG[:-2]), True, id="cut-base64"),
        pytest.param(b"a file that only the server knows", False, id="unknown"),
        pytest.param(np.zeros((9, 9, 3), np.uint8), False, id="pixels"),
    ],
)
def test_plates_of_a_cut_file_have_the_note_of_rest(picture: Picture, is_cut: bool) -> None:
    with PlateClient(transport=FakeTransport()) as client:
        plates = client.recognize(picture)
    note = CUT_NOTE if is_cut else ""
    assert plates.note == plates[:0].note == in_cyrillic(plates).note == note
    assert plates.to_dict().get("note", "") == note


def tiff() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (31, 17)).save(file, "TIFF")
    return file.getvalue()


def test_a_file_is_unpacked() -> None:
    (call,) = make_crop_requests([encode("PNG", size_wh=(31, 17))], {})
    assert call.inputs[CROP].shape == (17, 31, 3)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        pytest.param(tiff(), "wanted a JPEG, PNG, WebP or BMP file", id="format"),
        pytest.param(bmp(10_000, 10_000), "wanted 1 to 50000000 pixels", id="size"),
    ],
)
def test_a_header_is_checked_before_a_file_is_unpacked(
    file: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cv2.imdecode", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(PictureError, match=rf"crop 1: .*{reason}"):
        make_crop_requests([np.zeros((2, 2, 3), np.uint8), file], {})
