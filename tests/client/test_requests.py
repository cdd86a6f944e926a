"""Results for one picture of many, and the number of calls that fit a server."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from orchestrator.client import PlateClient
from orchestrator.client.picture_encoding import Picture
from orchestrator.client.requests import FITTING, PictureResult, fit, make_crop_requests
from orchestrator.client.transport import FakeTransport
from orchestrator.contract import CROP
from orchestrator.errors import Overloaded, PictureError
from orchestrator.formats.transliteration import in_cyrillic
from orchestrator.imaging.files import CUT_NOTE
from orchestrator.plates import Plate, Plates
from tests.fuzzing.file_parts import bmp, encoded

PLATES = Plates((Plate((0, 0, 9, 9), text="A123BC77"),))


def test_plates_are_there_without_an_error() -> None:
    picture_result = PictureResult("car.jpg", PLATES)
    assert (picture_result.plates, picture_result.error) == (PLATES, None)


def test_a_failure_is_never_a_picture_without_plates() -> None:
    picture_result = PictureResult("car.jpg", Overloaded("full"))
    assert str(picture_result.error) == "full"
    with pytest.raises(Overloaded, match="full"):
        picture_result.plates  # noqa: B018


@pytest.mark.parametrize(
    ("config", "calls"),
    [
        pytest.param({"instance_group": [{"count": 3}]}, 6, id="one-group"),
        pytest.param({"instance_group": [{"count": "1"}, {"count": 2}]}, 6, id="two-groups"),
        pytest.param({"instance_group": []}, FITTING, id="none"),
        pytest.param({"instance_group": [{"name": "a"}]}, FITTING, id="no-count"),
        pytest.param({}, FITTING, id="says-nothing"),
    ],
)
def test_twice_as_many_calls_fit_as_the_server_has_in_work(config: dict, calls: int) -> None:
    assert fit(config) == calls


JPEG = encoded("JPEG", size_wh=(31, 17))


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
    (call,) = make_crop_requests([encoded("PNG", size_wh=(31, 17))], {})
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
