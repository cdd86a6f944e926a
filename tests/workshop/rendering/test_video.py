"""Clips through real codecs: same size and place, another look."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr
from workshop.rendering.scenery import scene
from workshop.rendering.video import Encoder, as_frame, random_encoder, through_video, transcode

FINE = Encoder("libx264", {"crf": "14", "preset": "veryfast"})
ENCODERS = [
    pytest.param(FINE, id="h264"),
    pytest.param(Encoder("libx264", {"crf": "14", "x264-params": "interlaced=1"}), id="interlaced"),
    pytest.param(Encoder("mpeg4", {"qmin": "2", "qmax": "2"}), id="mpeg4"),
    pytest.param(Encoder("mjpeg", {"qmin": "2", "qmax": "2"}, gop=1), id="mjpeg"),
]


@pytest.fixture(scope="module")
def street() -> Bgr:
    street_bgr = scene(["A123BC77"], (640, 480), seed=1).picture
    return cv2.resize(street_bgr, (320, 180), interpolation=cv2.INTER_AREA).astype(np.uint8)


def drift(picture: Bgr, count: int = 6) -> list[Bgr]:
    return [np.roll(picture, 3 * index, axis=1) for index in range(count)]


def grey(picture: Bgr) -> NDArray[np.float32]:
    return cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32)


def test_no_frames_are_no_clip() -> None:
    assert through_video(np.random.default_rng(0), []) == []


def test_frames_of_two_sizes_are_refused() -> None:
    frames = [np.zeros((8, 8, 3), np.uint8), np.zeros((8, 16, 3), np.uint8)]
    with pytest.raises(ValueError, match=r"wanted one size, got \(8, 8\) and \(16, 8\)"):
        transcode(frames, FINE)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_codec_gives_each_frame_back_in_its_turn(encoder: Encoder, street: Bgr) -> None:
    frames = drift(street)
    frames_back = transcode(frames, encoder)
    assert len(frames_back) == len(frames)
    assert min(cv2.PSNR(*pair) for pair in zip(frames, frames_back, strict=True)) > 30
    assert cv2.PSNR(frames[0], frames_back[1]) < 30


@pytest.mark.parametrize("size_wh", [(2, 2), (17, 9), (61, 33), (94, 24)])
@pytest.mark.parametrize("seed", range(3))
def test_any_size_comes_back(seed: int, size_wh: tuple[int, int], street: Bgr) -> None:
    small = cv2.resize(street, size_wh).astype(np.uint8)
    assert as_frame(np.random.default_rng(seed), small).shape == small.shape


def test_fewer_bits_show(street: Bgr) -> None:
    poor, rich = (Encoder("libx264", {"preset": "veryfast"}, 50, bits) for bits in (0.05, 0.8))
    frames = drift(street)
    losses = [cv2.PSNR(frames[-1], transcode(frames, encoder)[-1]) for encoder in (poor, rich)]
    assert losses[0] + 3 < losses[1]


def test_the_rate_of_a_small_picture_is_not_below_what_x264_counts() -> None:
    assert Encoder("libx264", bits_per_pixel=0.05).bit_rate((2, 2)) == 2000
    assert Encoder("libx264", bits_per_pixel=0.1).bit_rate((320, 180)) == 144_000
    assert FINE.bit_rate((320, 180)) is None


def test_the_same_seed_gives_the_same_frame_and_leaves_the_picture_alone(street: Bgr) -> None:
    before = street.copy()
    first, other = (as_frame(np.random.default_rng(5), street) for _ in range(2))
    assert np.array_equal(first, other)
    assert np.array_equal(street, before)
    assert not np.array_equal(first, street)


@pytest.mark.parametrize("seed", range(8))
def test_a_frame_stands_where_its_picture_stands(seed: int, street: Bgr) -> None:
    frame = as_frame(np.random.default_rng(seed), street)
    shift, _ = cv2.phaseCorrelate(grey(street), grey(frame))
    assert np.abs(shift).max() < 0.5


def test_all_codecs_are_drawn() -> None:
    rng = np.random.default_rng(0)
    encoders = [random_encoder(rng) for _ in range(60)]
    assert {encoder.codec for encoder in encoders} == {"libx264", "mpeg4", "mjpeg"}
    assert {
        encoder.bits_per_pixel is None for encoder in encoders if encoder.codec == "libx264"
    } == {True, False}
