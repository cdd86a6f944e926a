import pytest

from orchestrator.imaging.foreign_formats import foreign_format_of


def family_of_mp4(*brands: bytes) -> bytes:
    major, *others = brands
    content = b"ftyp" + major + bytes(4) + b"".join(others)
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
    found = foreign_format_of(file)
    assert found is not None
    assert found.name.startswith(name)
    assert advice in found.advice
