from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import inf, nan
from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_cameras.blurring import MAX_VEHICLE_WIDTH_PX
from plate_cameras.frames import Xyxy
from plate_cameras.passes import PassEvent
from plate_cameras.store import store_parts
from plate_cameras.store.pass_store import PassStore
from plate_cameras.store.store_parts import KeptFrames
from tests.plate_cameras.store.stored_events import REQUESTER, make_event
from workshop.rendering.scenery import Scene, scene


@cache
def street() -> Scene:
    return scene(["A123BC77", "M456OP199"], (640, 480), seed=2)


def make_street_event() -> PassEvent:
    """Return an event whose best frame shows two plates; the first belongs to the pass."""
    event = make_event("a")
    own_box, other_box = (tuple(map(float, box)) for box in street().xyxy)
    _, jpeg = cv2.imencode(".jpg", street().picture)
    best = event.vehicle_pass.best
    plate = replace(best.observation.plate, xyxy=own_box)
    observation = replace(best.observation, plate=plate)
    best = replace(best, observation=observation, frame_jpeg=jpeg.tobytes(), others=(other_box,))
    return replace(event, vehicle_pass=replace(event.vehicle_pass, best=best))


def read(jpeg: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)


def cut(picture: np.ndarray, number: int) -> np.ndarray:
    x0, y0, x1, y1 = map(int, street().xyxy[number])
    return picture[y0:y1, x0:x1].astype(float)


@pytest.mark.parametrize("blur", ["surroundings", "plates"])
def test_a_kept_frame_shows_its_own_plate_alone(blur: str) -> None:
    kept_picture = read(
        KeptFrames(True, blur).prepare(make_street_event()).vehicle_pass.best.frame_jpeg
    )
    assert abs(cut(kept_picture, 0) - cut(street().picture, 0)).mean() < 8
    assert cut(street().picture, 1).std() > 30
    assert cut(kept_picture, 1).std() < 8


def test_a_frame_stays_as_it_is_without_blur() -> None:
    best = make_street_event().vehicle_pass.best
    event = KeptFrames(True, "none").prepare(make_street_event())
    assert event.vehicle_pass.best == replace(best, blur="none")


def test_without_the_wish_no_frame_is_kept() -> None:
    event = KeptFrames().prepare(make_street_event())
    assert event.vehicle_pass.best.frame_jpeg == b""
    assert event.vehicle_pass.best.crop_jpeg == make_street_event().vehicle_pass.best.crop_jpeg


@pytest.mark.parametrize("blur", ["surroundings", "plates", "none"])
def test_a_small_picture_of_the_vehicle_is_kept_once(blur: str) -> None:
    prepared_event = KeptFrames(False, blur, has_vehicle=True).prepare(make_street_event())
    best = prepared_event.vehicle_pass.best
    assert best.part is not None
    x0, y0, x1, y1 = best.part
    px0, py0, px1, py1 = best.observation.plate.xyxy
    assert x0 <= px0 < px1 <= x1
    assert y0 <= py0 < py1 <= y1
    kept_picture = read(best.frame_jpeg)
    assert kept_picture.shape[1] == min(x1 - x0, MAX_VEHICLE_WIDTH_PX)
    scale = kept_picture.shape[1] / (x1 - x0)
    plate = kept_picture[int(scale * (py0 - y0)) :, int(scale * (px0 - x0)) :]
    assert plate[: int(scale * (py1 - py0)), : int(scale * (px1 - px0))].std() > 30
    assert best.blur == blur
    again = KeptFrames(False, blur, has_vehicle=True).prepare(prepared_event)
    assert again == prepared_event  # an event that comes from the store


def test_a_frame_that_cannot_be_blurred_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    event = KeptFrames(True).prepare(make_event("a"))
    assert event.vehicle_pass.best.frame_jpeg == b""
    assert "a: the frame is left out" in caplog.text


@pytest.mark.parametrize(
    "box",
    [
        pytest.param((10.0, 9000.0, 110.0, 9020.0), id="below"),
        pytest.param((9000.0, 10.0, 9100.0, 30.0), id="beside"),
        pytest.param((nan, 10.0, 110.0, 30.0), id="no-number"),
        pytest.param((10.0, 10.0, inf, 30.0), id="endless"),
    ],
)
def test_a_plate_outside_of_its_frame_keeps_no_other_pass_waiting(
    caplog: pytest.LogCaptureFixture, box: Xyxy
) -> None:
    event = make_street_event()
    best = event.vehicle_pass.best
    plate = replace(best.observation.plate, xyxy=box)
    best = replace(best, observation=replace(best.observation, plate=plate))
    event = replace(event, vehicle_pass=replace(event.vehicle_pass, best=best))
    prepared_event = KeptFrames(has_vehicle=True).prepare(event)
    kept_best = prepared_event.vehicle_pass.best
    assert (kept_best.frame_jpeg, kept_best.crop_jpeg) == (b"", best.crop_jpeg)
    assert "a: the frame is left out" in caplog.text


@pytest.mark.parametrize("error", [MemoryError(), cv2.error("no memory"), TypeError("a fault")])
def test_no_error_of_a_frame_keeps_another_pass_waiting(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(store_parts, "blur_frame", fail)
    event = KeptFrames(True).prepare(make_street_event())
    assert event.vehicle_pass.best.frame_jpeg == b""


def test_the_spool_gets_no_more_than_the_pictures(
    tmp_path: Path, opening: Callable[..., PassStore]
) -> None:
    opening(f"sqlite:///{tmp_path}/missing/passes.db").write([make_street_event()], [])
    [file] = (tmp_path / "spool").glob("*.event")

    assert make_street_event().vehicle_pass.best.frame_jpeg not in file.read_bytes()
    assert make_street_event().vehicle_pass.best.crop_jpeg in file.read_bytes()


def test_the_store_blurs_what_it_keeps(opening: Callable[..., PassStore]) -> None:
    store = opening(keep_frames=True, blur="surroundings")
    store.write([make_street_event()], [])
    digest = store.get("a", REQUESTER).found_pass.frame
    assert digest
    assert cut(read(store.picture(digest)), 1).std() < 8
