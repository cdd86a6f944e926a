import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orchestrator.errors import PictureError
from orchestrator.imaging import files
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.files import from_base64, read_file, unpack
from orchestrator.imaging.headers import check_file


def encode(encoding: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((20, 30, 3), (200, 0, 0), np.uint8)).save(file, encoding, **options)
    return file.getvalue()


FILE = encode("PNG")
TEXT = base64.b64encode(FILE)


@pytest.mark.parametrize("encoding", ["JPEG", "PNG", "WEBP", "BMP"])
def test_base64_becomes_the_file_and_a_file_stays_as_it_is(encoding: str) -> None:
    file = encode(encoding)
    assert from_base64(file) is file
    assert from_base64(base64.b64encode(file)) == file


@pytest.mark.parametrize("line_break", [b"\n", b"\r\n"])
def test_lines_of_base64_are_joined(line_break: bytes) -> None:
    lines = base64.encodebytes(FILE).replace(b"\n", line_break)
    assert lines.count(line_break) > 1
    assert from_base64(lines) == FILE


def test_base64_may_be_safe_for_urls_and_lack_its_padding() -> None:
    file = FILE + b"\xff\xfe\xfd\xfb"
    text = base64.urlsafe_b64encode(file)
    assert b"_" in text
    assert text.endswith(b"=")
    assert from_base64(text.rstrip(b"=")) == file
    assert from_base64(base64.urlsafe_b64encode(b"\xff\xd8\xff\xe0")) == b"\xff\xd8\xff\xe0"


def test_a_data_url_becomes_the_file() -> None:
    assert from_base64(b"data:image/png;base64," + TEXT) == FILE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT.rstrip(b"=")[: len(TEXT) // 4 * 4 - 3], id="cut"),
        pytest.param(TEXT[:40] + b"*" + TEXT[41:], id="no-base64"),
        pytest.param(TEXT[:40] + b"\xff" + TEXT[41:], id="no-text"),
        pytest.param(TEXT[:40] + b"====" + TEXT[44:], id="padding-inside"),
        pytest.param(b"data:image/png," + TEXT, id="another-data-url"),
        pytest.param(b"data:text/html;base64," + TEXT, id="no-image"),
    ],
)
def test_damaged_base64_is_refused(text: bytes) -> None:
    with pytest.raises(PictureError, match=r"wanted the base64 text .* got \d+ damaged char"):
        from_base64(text)


def test_nothing_stays_nothing() -> None:
    assert from_base64(b"") == b""


def test_pixels_are_bgr_and_turned_as_exif_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: show it rotated by 90 degrees
    file = encode("JPEG", exif=exif)
    pixels = unpack(file, check_file(file, 600))
    assert pixels.shape == (30, 20, 3)
    assert np.allclose(pixels[10, 10], (0, 0, 200), atol=4)
    assert np.array_equal(pixels, decode(file).numpy())


PROGRESSIVE = {"progressive": True, "quality": 90}
NOISE = np.random.default_rng(5).integers(0, 255, (320, 240, 3), np.uint8)


def jpeg_of(noise: np.ndarray, **options) -> bytes:
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "JPEG", **options)
    return file.getvalue()


@pytest.mark.parametrize("lost_bytes", [1, 2, 3, 200, 0.05])
@pytest.mark.parametrize(
    ("noise", "options"),
    [
        pytest.param(NOISE, {}, id="baseline"),
        pytest.param(NOISE, PROGRESSIVE, id="progressive"),
        pytest.param(NOISE, {"restart_marker_rows": 1}, id="with restarts"),
        pytest.param(NOISE[..., 0], {}, id="grey"),
    ],
)
@pytest.mark.parametrize("padding", [b"", bytes(100)])
def test_a_jpeg_that_lacks_only_its_end_is_decoded(noise, options, lost_bytes, padding) -> None:
    whole = jpeg_of(noise, **options)
    cut_file = whole[: -(lost_bytes if lost_bytes >= 1 else int(lost_bytes * len(whole)))] + padding
    header = check_file(cut_file, NOISE.size)
    assert (header.is_cut, check_file(whole, NOISE.size).is_cut) == (True, False)
    rows = (
        unpack(cut_file, header)[:256]
        if options is not PROGRESSIVE
        else unpack(cut_file, header)[:32]
    )
    difference = np.abs(
        rows.astype(int) - unpack(whole, check_file(whole, NOISE.size))[: len(rows)]
    )
    assert np.median(difference) <= (0 if options is not PROGRESSIVE else 40)


def test_a_jpeg_that_lacks_much_is_refused() -> None:
    whole = jpeg_of(NOISE)
    half = whole[: len(whole) // 2]
    with pytest.raises(PictureError, match=r"at most 10% of the rows missing, got 1\d\d of 320"):
        unpack(half, check_file(half, NOISE.size))


def test_a_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_MB", 2)
    with pytest.raises(PictureError, match=r"^/dev/zero: wanted a file of up to 2 MB"):
        read_file("/dev/zero")


@pytest.mark.parametrize("size", [0, 1, files.PIECE_BYTES, files.PIECE_BYTES + 1])
def test_a_file_is_read_to_its_end(size: int, tmp_path: Path) -> None:
    content = np.random.default_rng(0).bytes(size)
    (tmp_path / "car.jpg").write_bytes(content)
    assert read_file(tmp_path / "car.jpg") == content


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    with pytest.raises(PictureError, match=r"gone\.jpg: cannot be read: No such"):
        read_file(tmp_path / "gone.jpg")
