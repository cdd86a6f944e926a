import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from orchestrator.detection.letterbox import letterbox
from orchestrator.errors import PictureError
from orchestrator.imaging.decoding import check_picture, decode, read_picture
from orchestrator.reading.crops import crop_boxes, crop_plates, resize_crop, unfold

ROOT = Path(__file__).parents[2]


def encoded(rgb: np.ndarray, encoding: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, encoding, **options)
    return file.getvalue()


def gradient(height: int, width: int) -> torch.Tensor:
    """A picture whose blue grows to the right and whose green grows downwards."""
    picture = torch.zeros(height, width, 3, dtype=torch.uint8)
    picture[..., 0] = torch.linspace(0, 250, width).byte()
    picture[..., 1] = torch.linspace(0, 250, height).byte()[:, None]
    return picture


class TestDecode:
    @pytest.mark.parametrize("encoding", ["PNG", "BMP", "WEBP", "JPEG"])
    def test_every_encoding_gives_bgr(self, encoding: str) -> None:
        red = np.full((20, 30, 3), (200, 0, 0), np.uint8)
        picture = decode(encoded(red, encoding))
        assert picture.shape == (20, 30, 3)
        assert picture.dtype == torch.uint8
        assert torch.allclose(picture[10, 15].float(), torch.tensor([0.0, 0, 200]), atol=4)

    def test_grey_and_transparent_pictures_become_bgr(self) -> None:
        assert decode(encoded(np.zeros((4, 5), np.uint8))).shape == (4, 5, 3)
        assert decode(encoded(np.zeros((4, 5, 4), np.uint8))).shape == (4, 5, 3)

    @pytest.mark.parametrize(
        "junk",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"not a picture", id="text"),
            pytest.param(encoded(np.zeros((4, 5, 3), np.uint8), "GIF"), id="GIF"),
            pytest.param(encoded(np.zeros((4, 5, 3), np.uint8))[:20], id="header alone"),
        ],
    )
    def test_bytes_that_are_no_picture_are_refused(self, junk: bytes) -> None:
        with pytest.raises(PictureError, match="wanted a JPEG, PNG, WebP or BMP file"):
            decode(junk)

    def test_a_damaged_picture_is_refused(self) -> None:
        png = bytearray(encoded(np.zeros((40, 50, 3), np.uint8)))
        png[41:] = b"\xff" * (len(png) - 41)
        with pytest.raises(PictureError, match="damaged 50x40 picture"):
            decode(bytes(png))

    def test_a_huge_picture_is_refused_before_it_is_unpacked(self) -> None:
        bomb = encoded(np.zeros((3000, 3000, 3), np.uint8))
        assert len(bomb) < 100_000
        with pytest.raises(PictureError, match="wanted 1 to 1000000 pixels, got 3000x3000"):
            decode(bomb, max_pixels=1_000_000)

    def test_an_animation_is_refused(self) -> None:
        frames = [Image.new("RGB", (30, 20), colour) for colour in ("black", "white")]
        file = io.BytesIO()
        frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:])
        with pytest.raises(PictureError, match="wanted one picture, got an animation"):
            decode(file.getvalue())

    def test_a_file_is_read(self, tmp_path) -> None:
        (tmp_path / "a.png").write_bytes(encoded(np.zeros((4, 5, 3), np.uint8)))
        assert read_picture(tmp_path / "a.png").shape == (4, 5, 3)


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(torch.zeros(4, 4, 3), id="float"),
        pytest.param(torch.zeros(4, 4, dtype=torch.uint8), id="grey"),
        pytest.param(torch.zeros(4, 4, 4, dtype=torch.uint8), id="four channels"),
        pytest.param(torch.zeros(1, 4, 4, 3, dtype=torch.uint8), id="batch"),
    ],
)
def test_a_tensor_that_is_no_picture_is_refused(picture: torch.Tensor) -> None:
    with pytest.raises(PictureError, match=r"wanted a UINT8 picture .* got torch"):
        check_picture(picture, max_pixels=100)


def test_a_picture_without_pixels_is_refused() -> None:
    with pytest.raises(PictureError, match="got 4x0 pixels"):
        check_picture(torch.zeros(0, 4, 3, dtype=torch.uint8), max_pixels=100)


class TestLetterbox:
    @pytest.mark.parametrize(
        ("size_wh", "net_hw", "scale"),
        [
            pytest.param((1920, 1080), (384, 640), 1 / 3, id="landscape"),
            pytest.param((1080, 1920), (640, 384), 1 / 3, id="portrait"),
            pytest.param((640, 640), (640, 640), 1, id="fits"),
            pytest.param((100, 50), (64, 128), 1, id="small is not enlarged"),
            pytest.param((1, 1), (32, 32), 1, id="one pixel"),
            pytest.param((5000, 1), (32, 640), 0.128, id="a line"),
        ],
    )
    def test_sizes(self, size_wh, net_hw, scale: float) -> None:
        box = letterbox(torch.zeros(size_wh[1], size_wh[0], 3, dtype=torch.uint8), 640)
        assert box.net.shape == (1, *net_hw, 3)
        assert box.net.dtype == torch.uint8
        assert box.scale == pytest.approx(scale)

    def test_the_picture_lies_in_the_middle_of_grey(self) -> None:
        box = letterbox(torch.zeros(50, 100, 3, dtype=torch.uint8), 640)
        assert box.offset_xy == (14, 7)
        assert box.net[0, 6].unique().tolist() == [114]
        assert box.net[0, 7:57, 14:114].unique().tolist() == [0]
        assert box.net[0, 57].unique().tolist() == [114]

    def test_to_source_undoes_to_net(self) -> None:
        box = letterbox(torch.zeros(1080, 1920, 3, dtype=torch.uint8), 640)
        xyxy = torch.tensor([[0.0, 0, 1920, 1080], [700, 10, 811.5, 40]])
        assert torch.allclose(box.to_source(box.to_net(xyxy)), xyxy, atol=1e-3)

    def test_pixels_land_where_to_net_says(self) -> None:
        picture = torch.zeros(1000, 1000, 3, dtype=torch.uint8)
        picture[400:600, 100:300] = 255
        box = letterbox(picture, 320)
        white = (box.net[0, :, :, 0] > 127).nonzero()
        y0, x0 = white.min(dim=0).values.tolist()
        y1, x1 = (white.max(dim=0).values + 1).tolist()
        assert box.to_net(torch.tensor([[100.0, 400, 300, 600]])).tolist() == [[x0, y0, x1, y1]]

    def test_no_pixel_is_skipped_however_much_a_picture_shrinks(self) -> None:
        picture = torch.zeros(960, 1280, 3, dtype=torch.uint8)
        picture[:, ::8] = 255  # one line in each pixel of the net; on average 32
        inner = letterbox(picture, 160).net[0, 4:124].float()
        assert inner.sub(32).abs().max() <= 2

    def test_the_picture_is_left_alone(self) -> None:
        picture = gradient(100, 200)
        before = picture.clone()
        letterbox(picture, 64).net.zero_()
        assert torch.equal(picture, before)


class TestCrops:
    def test_no_boxes_give_no_crops(self) -> None:
        assert crop_plates(gradient(50, 100), torch.zeros(0, 4)).shape == (0, 3, 24, 94)

    @pytest.mark.parametrize(
        ("box", "cut"),
        [
            pytest.param((40, 20, 60, 30), (39, 18, 61, 32), id="middle"),
            pytest.param((0, 20, 20, 30), (0, 18, 21, 32), id="left edge"),
            pytest.param((80, 20, 100, 30), (79, 18, 100, 32), id="right edge"),
            pytest.param((40, 0, 60, 10), (39, 0, 61, 12), id="top edge"),
            pytest.param((40, 40, 60, 50), (39, 38, 61, 50), id="bottom edge"),
            pytest.param((0, 0, 100, 50), (0, 0, 100, 50), id="whole picture"),
            pytest.param((30, 20, 30, 20), (30, 20, 31, 21), id="no size"),
            pytest.param((100, 50, 100, 50), (99, 49, 100, 50), id="no size in the corner"),
        ],
    )
    def test_a_box_grows_by_its_margin_and_stays_in_the_picture(self, box, cut) -> None:
        xyxy = torch.tensor([box], dtype=torch.float32)
        assert crop_boxes(gradient(50, 100), xyxy, (0.05, 0.2)) == [cut]
        assert torch.isfinite(crop_plates(gradient(50, 100), xyxy)).all()

    def test_a_crop_is_normalised_rgb(self) -> None:
        picture = torch.zeros(50, 100, 3, dtype=torch.uint8)
        picture[..., 2] = 255  # red, in BGR
        crop = crop_plates(picture, torch.tensor([[10.0, 10, 60, 30]]))[0]
        assert torch.allclose(crop[0], torch.tensor((255 - 127.5) / 128))
        assert torch.allclose(crop[1:], torch.tensor(-127.5 / 128))

    def test_a_crop_shows_its_part_of_the_picture(self) -> None:
        crop = crop_plates(gradient(100, 200), torch.tensor([[100.0, 0, 200, 100]]), (0, 0))[0]
        blue = crop[2] * 128 + 127.5
        assert blue[:, 0].mean().item() == pytest.approx(126, abs=3)
        assert blue[:, -1].mean().item() == pytest.approx(249, abs=3)

    def test_the_lines_of_a_square_plate_come_one_after_the_other(self) -> None:
        picture = torch.zeros(48, 94, 3, dtype=torch.uint8)
        picture[:24, :, 2], picture[24:, :, 0] = 255, 255  # red above blue, in BGR
        whole = torch.tensor([[0.0, 0, 94, 48]])
        crop = crop_plates(picture, whole, (0, 0), lines=2)[0] * 128 + 127.5
        left, right = crop[:, :, :46], crop[:, :, 48:]
        assert left.mean(dim=(1, 2)).tolist() == pytest.approx([255, 0, 0], abs=1)
        assert right.mean(dim=(1, 2)).tolist() == pytest.approx([0, 0, 255], abs=1)

    def test_a_tall_crop_is_resized_in_two_steps_as_in_one(self) -> None:
        crop = gradient(600, 30)
        whole = resize_crop(crop)
        assert torch.allclose(resize_crop(crop, tallest_px=500), whole, atol=1e-2)
        assert torch.equal(resize_crop(crop, tallest_px=600), whole)

    def test_a_box_without_size_is_unfolded_too(self) -> None:
        crops = crop_plates(gradient(50, 100), torch.tensor([[30.0, 20, 30, 20]]), lines=2)
        assert crops.shape == (1, 3, 24, 94)
        assert torch.isfinite(crops).all()


@pytest.mark.parametrize(
    ("rows", "strip"),
    [
        pytest.param([1], [[1, 1]], id="one row"),
        pytest.param([1, 2], [[1, 2]], id="two rows"),
        pytest.param([1, 2, 3], [[1, 2], [2, 3]], id="an odd number"),
        pytest.param([1, 2, 3, 4], [[1, 3], [2, 4]], id="an even number"),
    ],
)
def test_a_crop_is_unfolded_at_its_middle(rows: list[int], strip: list[list[int]]) -> None:
    crop = torch.tensor(rows, dtype=torch.uint8)[:, None, None].expand(-1, 1, 3)
    assert unfold(crop)[..., 0].tolist() == strip


def test_a_picture_that_there_is_no_memory_for_is_not_called_damaged() -> None:
    code = (
        "import resource, cv2, numpy as np\n"
        "from orchestrator.imaging.decoding import decode\n"
        "from orchestrator.errors import Overloaded\n"
        "file = cv2.imencode('.png', np.zeros((4000, 6000, 3), np.uint8))[1].tobytes()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**25, resource.RLIM_INFINITY))\n"
        "try: decode(file)\n"
        "except Overloaded as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "wanted memory for a 6000x4000 picture, got none\n", done.stderr
