"""Types of pictures that a caller may pass."""

import io
import os
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from orchestrator.client.picture_encoding import check_several, load_picture
from orchestrator.errors import PictureError
from tests.imaging.heic_files import heic_of
from tests.samples import STREET

FILE = b"the bytes of a file"
B64 = b64encode(STREET.read_bytes())
BGR = np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8)
"""A picture of one row, BGR: two pixels, left and right."""
LEFT_RED = Image.fromarray(np.array([[[200, 0, 0], [0, 0, 100]]], np.uint8))
"""A picture of two pixels, RGB: red on the left, blue on the right."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "car.jpg"
    file.write_bytes(FILE)
    return file


@pytest.mark.parametrize("write", [b64encode, encodebytes, urlsafe_b64encode])
@pytest.mark.parametrize("head", ["", "data:image/jpeg;base64,"])
def test_base64_text_is_the_file(write, head: str) -> None:
    file = STREET.read_bytes()
    assert load_picture(head + write(file).decode()) == file


@pytest.mark.parametrize(
    "kind", [Path, str, Path.open, Path.read_bytes, lambda path: memoryview(path.read_bytes())]
)
def test_files_paths_and_bytes_are_taken_as_they_are(path: Path, kind: Callable) -> None:
    picture = kind(path, "rb") if kind is Path.open else kind(path)
    content = load_picture(picture)
    assert (type(content), content) == (bytes, FILE)
    getattr(picture, "close", int)()


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(BGR, id="array"),
        pytest.param(torch.from_numpy(BGR), id="tensor"),
        pytest.param(np.asfortranarray(BGR), id="column-major"),
        pytest.param(torch.from_numpy(BGR.transpose(2, 0, 1).copy()).permute(1, 2, 0), id="view"),
    ],
)
def test_arrays_and_tensors_are_bgr_as_they_are(picture) -> None:
    array = load_picture(picture)
    assert isinstance(array, np.ndarray)
    assert np.array_equal(array, BGR)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_a_tensor_on_a_gpu_is_fetched() -> None:
    assert np.array_equal(load_picture(torch.from_numpy(BGR).cuda()), BGR)


def palette() -> Image.Image:
    picture = LEFT_RED.convert("P", palette=Image.Palette.ADAPTIVE)
    picture.info["transparency"] = bytes([0, 255])
    return picture


def transparent() -> Image.Image:
    picture = LEFT_RED.convert("RGBA")
    picture.putalpha(0)
    return picture


@pytest.mark.parametrize(
    ("picture", "bgr"),
    [
        pytest.param(LEFT_RED, [[0, 0, 200], [100, 0, 0]], id="rgb"),
        pytest.param(transparent(), [[0, 0, 200], [100, 0, 0]], id="rgba"),
        pytest.param(palette(), [[0, 0, 200], [100, 0, 0]], id="palette"),
        pytest.param(LEFT_RED.convert("L"), [[60, 60, 60], [11, 11, 11]], id="grey"),
    ],
)
def test_a_pil_picture_becomes_bgr(picture: Image.Image, bgr: list[list[int]]) -> None:
    assert load_picture(picture).tolist() == [bgr]


def test_a_pil_picture_is_turned_as_its_exif_says() -> None:
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # left is to be above
    LEFT_RED.save(file, "PNG", exif=exif)
    assert load_picture(Image.open(file)).tolist() == [[[0, 0, 200]], [[100, 0, 0]]]


def close_file(file: io.IOBase) -> io.IOBase:
    file.close()
    return file


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        pytest.param(
            None, "got None, which is what cv2.imread gives for a file that it cannot", id="none"
        ),
        pytest.param(7, "wanted a path, .*, got int", id="number"),
        pytest.param(b"", "got no bytes", id="no-bytes"),
        pytest.param("gone.jpg", "^gone.jpg: cannot be read: No such file", id="gone"),
        pytest.param("", "^'': cannot be read:", id="empty-path"),
        pytest.param("a\0b", "cannot be read: embedded null", id="null"),
        pytest.param(
            "https://me:pw@cam/a.jpg", "got the URL https://cam/a.jpg; fetch it first", id="URL"
        ),
        pytest.param("s3://photos/a.jpg", "got the URL s3://photos/a.jpg; fetch", id="storage"),
        pytest.param("/9j/car.jpg", "/9j/car.jpg: cannot be read: No such", id="short"),
        pytest.param(B64.decode()[:90] + "*", "wanted the base64 text of a picture", id="damaged"),
        pytest.param("x" * 9999, r"^x{100}\.\.\.: cannot be read: .*too long", id="base64"),
        pytest.param("/", "^/: cannot be read: Is a directory", id="folder"),
        pytest.param(os.devnull, "^/dev/null: wanted a JPEG.*got no bytes", id="empty-file"),
        pytest.param(io.StringIO("text"), "open the file with 'rb', not as text", id="text"),
        pytest.param(io.BytesIO(b""), "file object .*, got no bytes", id="at-its-end"),
        pytest.param(close_file(io.BytesIO(FILE)), "cannot be read: .*closed file", id="closed"),
        pytest.param(BGR.astype(np.float32), r"got float32 \[1, 2, 3\]", id="floats"),
        pytest.param(BGR[:, :, 0], r"wanted uint8 \[H, W, 3\] BGR, got uint8 \[1, 2\]", id="grey"),
        pytest.param(BGR.transpose(2, 0, 1), r"got uint8 \[3, 1, 2\]", id="planes"),
        pytest.param(BGR[:0], r"got uint8 \[0, 2, 3\]", id="no-rows"),
        pytest.param(torch.from_numpy(BGR).bfloat16(), "wanted uint8 .*BFloat16", id="bfloat16"),
        pytest.param(torch.zeros(1, 2, 3, device="meta"), "wanted uint8 .*, got", id="no-device"),
        pytest.param(Image.new("I;16", (2, 2)), "8 bits a channel, got mode I;16", id="16-bits"),
        pytest.param(Image.new("RGB", (0, 2)), r"got uint8 \[2, 0, 3\]", id="pil-empty"),
    ],
)
def test_a_value_without_a_picture_is_an_error_in_one_sentence(picture, message: str) -> None:
    with pytest.raises(PictureError, match=message) as failure:
        load_picture(picture)
    assert "\n" not in str(failure.value)


def test_a_file_opened_for_writing_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file, pytest.raises(PictureError, match="cannot be read"):
        load_picture(file)


def test_a_pil_picture_cut_short_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cut.png"
    Image.new("RGB", (64, 64)).save(file)
    file.write_bytes(file.read_bytes()[:-40])
    with Image.open(file) as picture, pytest.raises(PictureError, match="PIL cannot read it: "):
        load_picture(picture)


def test_the_callers_picture_stays_as_it_was() -> None:
    picture = transparent()
    load_picture(picture)
    assert picture.mode == "RGBA"


@pytest.mark.parametrize(
    "pictures",
    [
        pytest.param([], id="none"),
        pytest.param(np.array(["a.jpg", "b.jpg"]), id="column-of-paths"),
        pytest.param(np.zeros((2, 8, 8, 3), np.uint8), id="batch"),
    ],
)
def test_several_pictures_are_taken_for_several(pictures: object) -> None:
    check_several("pictures", pictures)


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param("car.jpg", id="path"),
        pytest.param(io.BytesIO(b"x"), id="file"),
        pytest.param(np.zeros((8, 8, 3), np.uint8), id="array"),
        pytest.param(7, id="no-picture"),
    ],
)
def test_one_picture_is_not_taken_for_several(picture: object) -> None:
    with pytest.raises(PictureError, match="pictures: wanted several pictures, got one"):
        check_several("pictures", picture)


def test_a_heic_file_is_sent_as_jpeg_and_a_damaged_one_named(tmp_path: Path) -> None:
    (tmp_path / "a.heic").write_bytes(heic_of(STREET))
    assert load_picture(tmp_path / "a.heic")[:2] == b"\xff\xd8"
    (tmp_path / "a.heic").write_bytes(heic_of(STREET)[:100])
    with pytest.raises(PictureError, match=r"a\.heic: damaged HEIC file"):
        load_picture(tmp_path / "a.heic")
