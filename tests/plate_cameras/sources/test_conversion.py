import io

import av
import cv2
import numpy as np
import pytest

from plate_cameras.sources.looks import LumaConverter, encode_jpeg
from tests.plate_cameras.clips import encode, street


def frame_of(bgr: np.ndarray, form: str = "yuv420p") -> av.VideoFrame:
    return av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(format=form)


@pytest.mark.parametrize("form", ["yuv420p", "yuvj420p", "yuyv422", "nv12", "yuv420p10le"])
def test_a_frame_of_any_pixel_format_becomes_a_jpeg(form: str) -> None:
    (drawn,) = street(1)
    jpeg, size_wh = encode_jpeg(frame_of(drawn, form))
    seen = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert size_wh == (320, 180)
    assert cv2.PSNR(seen, drawn) > 30


@pytest.mark.parametrize("size_wh", [(1920, 1080), (320, 180), (100, 300)])
def test_the_grey_picture_has_one_size(size_wh: tuple[int, int]) -> None:
    converter = LumaConverter()
    converter.convert(frame_of(street(1)[0]))  # of another size
    luma = converter.convert(frame_of(np.full((*size_wh[::-1], 3), 128, np.uint8)))
    assert luma.shape == (135, 240)
    assert np.ptp(luma) <= 1


@pytest.mark.parametrize("turned", [90, -90, 180])
def test_a_clip_that_was_taken_sideways_becomes_upright(turned: int) -> None:
    (drawn,) = street(1)
    with av.open(io.BytesIO(encode([drawn] * 3, rotation=turned))) as container:
        frame = next(container.decode(video=0))
    jpeg, size_wh = encode_jpeg(frame)
    seen = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert size_wh == seen.shape[1::-1]
    assert cv2.PSNR(seen, np.ascontiguousarray(np.rot90(drawn, turned // 90))) > 25
