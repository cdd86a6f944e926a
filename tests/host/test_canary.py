"""The picture for health checks: its file, and its absence."""

import cv2
import numpy as np

from orchestrator.host.canary import has_canary, read_canary
from orchestrator.imaging.decoding import decode
from orchestrator.imaging.headers import check_file
from orchestrator.networks.weights import WEIGHTS
from workshop.rendering.scenery import scene


def test_that_of_the_project_is_small_and_what_the_generator_draws() -> None:
    assert has_canary(WEIGHTS)
    canary = read_canary(WEIGHTS)
    assert canary.text == "A123BC77"
    drawn = scene([canary.text], (320, 128), seed=3).picture
    kept = cv2.imdecode(np.frombuffer(canary.file, np.uint8), cv2.IMREAD_COLOR)
    assert len(canary.file) < 6000
    assert kept.shape == drawn.shape
    difference = np.abs(kept.astype(int) - drawn.astype(int)).mean()
    assert difference < 4  # JPEG of quality 70


def test_without_its_text_a_picture_is_none(tmp_path) -> None:
    (tmp_path / "canary.jpg").write_bytes(b"a picture")
    assert not has_canary(tmp_path)
    assert read_canary(tmp_path) == read_canary(None)


def test_where_there_is_none_a_grey_picture_is_sent_and_nothing_need_be_read() -> None:
    canary = read_canary(None)
    assert canary.text == ""
    assert decode(canary.file).unique().tolist() == [128]
    header = check_file(canary.file, 64 * 64)
    assert (header.width, header.height) == (64, 64)
