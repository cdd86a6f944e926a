import base64
import io
import struct

import pytest
from PIL import Image

from orchestrator.errors import PictureError
from orchestrator.imaging.foreign_formats import foreign_format_of
from orchestrator.imaging.headers import Header, check_file, check_pixels

MAX_PIXELS = 1_000_000
PNG = b"\x89PNG\r\n\x1a\n"


def encode(encoding: str, *, pictures: int = 1, **options: object) -> bytes:
    colours = ("black", "white", "red")[:pictures]
    first_picture, *later_pictures = (Image.new("RGB", (30, 20), colour) for colour in colours)
    animation = {"save_all": True, "append_images": later_pictures} if later_pictures else {}
    file = io.BytesIO()
    first_picture.save(file, encoding, **animation, **options)
    return file.getvalue()


def chunk(kind: bytes, content: bytes = b"") -> bytes:
    """Return a chunk of a PNG; its checksum is not checked."""
    return struct.pack(">I", len(content)) + kind + content + b"sum!"


IHDR = chunk(b"IHDR", struct.pack(">II5x", 30, 20))


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(encode("JPEG"), id="JPEG"),
        pytest.param(encode("JPEG", exif=b"Exif\0\0" + b"\xff" * 5000), id="JPEG with EXIF"),
        pytest.param(encode("PNG"), id="PNG"),
        pytest.param(PNG + IHDR + chunk(b"acTL", struct.pack(">II", 1, 0)) + chunk(b"IDAT"),
                     id="PNG of one frame"),
        pytest.param(encode("WEBP"), id="lossy WebP"),
        pytest.param(encode("WEBP", lossless=True), id="lossless WebP"),
        pytest.param(encode("WEBP", exif=b"Exif\0\0MM"), id="WebP with EXIF"),
        pytest.param(encode("BMP"), id="BMP"),
        pytest.param(b"BM" + struct.pack("<12xIHH", 12, 30, 20), id="BMP of OS/2"),
        pytest.param(b"BM" + struct.pack("<12xIii", 40, 30, -20), id="BMP from the top"),
        pytest.param(b"\xff\xd8" + b"\xff" * 9 + encode("JPEG")[3:], id="JPEG with fill bytes"),
    ],
)  # fmt: skip
def test_the_size_of_a_picture_is_in_its_header(file: bytes) -> None:
    header = check_file(file, MAX_PIXELS)
    assert header == Header(30, 20, speed=header.speed)


@pytest.mark.parametrize(
    ("file", "speed"),
    [
        pytest.param(encode("JPEG"), 150e6, id="JPEG"),
        pytest.param(encode("BMP"), 150e6, id="BMP"),
        pytest.param(encode("PNG"), 70e6, id="PNG"),
        pytest.param(encode("WEBP"), 60e6, id="lossy WebP"),
        pytest.param(encode("WEBP", lossless=True), 60e6, id="lossless WebP"),
        pytest.param(encode("WEBP", exif=b"Exif\0\0MM"), 60e6, id="WebP with EXIF"),
    ],
)  # fmt: skip
def test_the_time_of_decoding_depends_on_the_format(file: bytes, speed: float) -> None:
    assert check_file(file, MAX_PIXELS).decoding_s == pytest.approx(600 / speed)


def jpeg(*segments: bytes) -> bytes:
    return b"\xff\xd8" + b"".join(segments) + b"\xff\xd9"


def frame(marker: int, components: int) -> bytes:
    content = struct.pack(">BHHB", 8, 20, 30, components) + bytes(3 * components)
    return segment(marker, content)


def segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def scan(components: int) -> bytes:
    return segment(0xDA, bytes([components]) + bytes(2 * components + 3)) + b"pixels"


@pytest.mark.parametrize(
    ("file", "scans", "kept_bytes"),
    [
        pytest.param(encode("JPEG", progressive=True), 10, 6, id="progressive"),
        pytest.param(jpeg(frame(0xC0, 3), scan(3), scan(3)), 1, 0, id="whole at once"),
        pytest.param(jpeg(frame(0xC0, 3), scan(1), scan(1), scan(1)), 3, 6, id="in parts"),
        pytest.param(jpeg(frame(0xC2, 1), scan(1)), 1, 2, id="progressive of one scan"),
        pytest.param(jpeg(frame(0xC2, 4), *[scan(4)] * 99), 32, 8, id="too many"),
        pytest.param(jpeg(frame(0xC2, 255), scan(1)), 1, 8, id="too many components"),
        pytest.param(jpeg(segment(0xE1, scan(3) * 5), frame(0xC0, 3), scan(3)), 1, 0,
                     id="those of a thumbnail"),
        pytest.param(jpeg(frame(0xC0, 3), segment(0xFE, scan(3)), scan(1), scan(2)), 3, 6,
                     id="one in a comment hides none"),
        pytest.param(jpeg(frame(0xC0, 3)), 1, 6, id="none"),
    ],
)  # fmt: skip
def test_the_scans_of_a_jpeg_are_counted(file: bytes, scans: int, kept_bytes: int) -> None:
    assert check_file(file, MAX_PIXELS) == Header(30, 20, scans=scans, kept_bytes=kept_bytes)


@pytest.mark.parametrize(
    ("scans", "passes"),
    [
        pytest.param(1, 1.0, id="one scan"),
        pytest.param(10, 5.0, id="progressive"),
        pytest.param(32, 16.0, id="the most"),
    ],
)
def test_unpacking_costs_pixels_times_scans(scans: int, passes: float) -> None:
    header = Header(100, 10, scans=scans, kept_bytes=6)
    assert header.unpacking_s == pytest.approx(passes * 1000 / 40e6)


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not a picture", id="text"),
        pytest.param(b"RIFF1234WAVE" + bytes(99), id="sound"),
        pytest.param(encode("WEBP")[:12], id="beginning of a WebP"),
        pytest.param(encode("PNG")[:20], id="beginning of a PNG"),
        pytest.param(PNG + chunk(b"tEXt") + IHDR, id="PNG without a size"),
        pytest.param(PNG + IHDR + chunk(b"tEXt") * 5000 + chunk(b"IDAT"), id="PNG of texts"),
        pytest.param(b"\xff\xd8\xff", id="beginning of a JPEG"),
        pytest.param(b"\xff\xd8\xff\xfe\0\1" + encode("JPEG")[2:], id="JPEG segment of no size"),
        pytest.param(b"\xff\xd8" + b"\xff\xfe\0\2" * 5000 + encode("JPEG")[2:],
                     id="JPEG of comments"),
        pytest.param(b"\xff\xd8" + b"\xff" * 5000 + encode("JPEG")[2:], id="JPEG of fill bytes"),
        pytest.param(b"\xff\xd8\xff\xd9" + encode("JPEG"), id="JPEG that ends at once"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_picture_are_refused(file: bytes) -> None:
    with pytest.raises(PictureError, match=rf"wanted a JPEG, .* got {len(file)} bytes that are"):
        check_file(file, MAX_PIXELS)


@pytest.mark.parametrize(
    ("file", "got"),
    [
        pytest.param(encode("GIF"), "a GIF file; export its first frame", id="GIF"),
        pytest.param(encode("TIFF"), "a TIFF or a camera's raw file; convert it", id="TIFF"),
        # OpenCV 4.11 has a flaw in its reader of these: docs/why/security.md.
        pytest.param(encode("JPEG2000"), "a JPEG 2000 file; convert it", id="JPEG 2000"),
        pytest.param(encode("JPEG2000", no_jp2=True), "a JPEG 2000 file; convert it",
                     id="JPEG 2000 codestream"),
    ],
)  # fmt: skip
def test_a_file_of_a_known_format_is_refused_with_its_name(file: bytes, got: str) -> None:
    with pytest.raises(PictureError, match=f"wanted a JPEG, PNG, WebP or BMP file, got {got}"):
        check_file(file, MAX_PIXELS)


def test_the_format_of_base64_text_is_named_too() -> None:
    text = base64.b64encode(encode("GIF"))
    with pytest.raises(PictureError, match="got a GIF file; export its first frame"):
        check_file(text, MAX_PIXELS)


def test_a_jpeg_of_more_bits_is_not_called_damaged() -> None:
    file = encode("JPEG").replace(b"\xff\xc0\0\x11\x08", b"\xff\xc1\0\x11\x0c")
    with pytest.raises(PictureError, match="wanted a JPEG of 8 bits, got one of 12; convert it"):
        check_file(file, MAX_PIXELS)


def test_a_side_that_no_decoder_takes_is_not_called_damaged() -> None:
    file = PNG + chunk(b"IHDR", struct.pack(">II5x", 1_048_577, 1)) + chunk(b"IDAT")
    with pytest.raises(PictureError, match=r"sides of up to 1048576 pixels .* got 1048577x1 pix"):
        check_file(file, 2_000_000)


@pytest.mark.parametrize("encoding", ["PNG", "WEBP"])
def test_an_animation_is_refused(encoding: str) -> None:
    with pytest.raises(PictureError, match="wanted one picture, got an animation; export"):
        check_file(encode(encoding, pictures=3), MAX_PIXELS)


@pytest.mark.parametrize("encoding", ["JPEG", "PNG", "WEBP", "BMP"])
def test_a_picture_may_have_as_many_pixels_as_that(encoding: str) -> None:
    header = check_file(encode(encoding), 600)
    assert (header.width, header.height) == (30, 20)
    with pytest.raises(PictureError, match="wanted 1 to 599 pixels, got 30x20 pixels"):
        check_file(encode(encoding), 599)


def test_a_header_that_is_cut_says_no_size() -> None:
    with pytest.raises(PictureError, match="got 0x0 pixels"):
        check_file(encode("BMP")[:17], MAX_PIXELS)


@pytest.mark.parametrize("size_wh", [(0, 5), (5, 0), (-1, -1)])
def test_a_picture_has_pixels(size_wh: tuple[int, int]) -> None:
    with pytest.raises(PictureError, match="wanted 1 to 9 pixels"):
        check_pixels(*size_wh, 9)


def family_of_mp4(*brands: bytes) -> bytes:
    major, *minor = brands
    content = b"ftyp" + major + bytes(4) + b"".join(minor)
    return (len(content) + 4).to_bytes(4, "big") + content + bytes(50)


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not a picture", id="text"),
        pytest.param(b"GIF", id="beginning of a GIF"),
        pytest.param(b"RIFF1234WAVEfmt ", id="sound"),
    ],
)
def test_an_unknown_file_has_no_format(file: bytes) -> None:
    assert foreign_format_of(file) is None


@pytest.mark.parametrize(
    ("file", "name", "advice"),
    [
        pytest.param(b"GIF89a", "a GIF", "export its first frame", id="GIF"),
        pytest.param(b"II*\0", "a TIFF", "convert it to JPEG or PNG", id="little TIFF"),
        pytest.param(b"MM\0*", "a TIFF", "convert it to JPEG or PNG", id="big TIFF"),
        pytest.param(family_of_mp4(b"heic", b"mif1"), "a HEIC", "convert it to JPEG", id="HEIC"),
        pytest.param(family_of_mp4(b"mif1", b"heic"), "a HEIC", "to JPEG", id="HEIC by HEIF"),
        pytest.param(family_of_mp4(b"mif1", b"avif"), "an AVIF", "to JPEG", id="AVIF by HEIF"),
        pytest.param(family_of_mp4(b"isom", b"avc1"), "a video", "a frame", id="MP4"),
        pytest.param(b"\x1aE\xdf\xa3", "a video", "a frame", id="Matroska"),
        pytest.param(b"RIFF1234AVI LIST", "a video", "a frame", id="AVI"),
        pytest.param(b"%PDF-1.7", "a PDF", "export its page", id="PDF"),
        pytest.param(b"\xff\x0a", "a JPEG XL", "to JPEG", id="JPEG XL"),
    ],
)
def test_a_known_format_has_a_name_and_advice(file: bytes, name: str, advice: str) -> None:
    foreign_format = foreign_format_of(file)
    assert foreign_format is not None
    assert foreign_format.name.startswith(name)
    assert advice in foreign_format.advice
