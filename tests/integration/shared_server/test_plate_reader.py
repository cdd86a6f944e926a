"""The ensemble `plate_reader`: crops of plates from another detector."""

from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from orchestrator.client import PlateClient
from orchestrator.errors import RequestError
from orchestrator.plates import Plate, PlateRegion
from orchestrator.reading.affine_crops import frames_around, tilts_of
from orchestrator.reading.crops import crop_boxes
from orchestrator.reading.reader import SURE_FROM, TILTED_DEG
from tests.samples import STREET, TEXTS
from workshop.rendering import camera
from workshop.rendering.samples.photos import Photo, photograph_plate

TILE_WH = (320, 160)
NEAR_PX = 90
"""Smallest width of a plate whose characters have ten pixels each."""


@pytest.fixture(scope="module", autouse=True)
def without_long_smears() -> Iterator[None]:
    """Draw plates without long motion blur, which the ensemble does not remove."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(camera, "SMEARED", 0.0)
        yield


def mosaic(rng: np.random.Generator) -> np.ndarray:
    """One picture, composed of twenty photographed plates."""
    columns, rows = 5, 4
    tiles = [photograph_plate(rng).picture for _ in range(columns * rows)]
    return np.vstack(
        [np.hstack([fit(tile) for tile in tiles[row::rows]]) for row in range(rows)],
    )


def fit(picture: np.ndarray) -> np.ndarray:
    """Put a picture, or its middle if it is too large, on a grey tile."""
    width, height = TILE_WH
    tile = np.full((height, width, 3), 114, np.uint8)
    high, wide = min(height, picture.shape[0]), min(width, picture.shape[1])
    top, left = (picture.shape[0] - high) // 2, (picture.shape[1] - wide) // 2
    tile[:high, :wide] = picture[top : top + high, left : left + wide]
    return tile


def cut(picture: np.ndarray, xyxy: np.ndarray, **margin: tuple[float, float]) -> list[np.ndarray]:
    boxes = crop_boxes(picture, xyxy, **margin)
    return [np.ascontiguousarray(picture[y0:y1, x0:x1]) for x0, y0, x1, y1 in boxes]


@pytest.fixture(scope="module")
def photos_of_plates() -> list[Photo]:
    """Sixty plates, each wide enough to be read, some of them dirty or dark."""
    rng = np.random.default_rng(3)
    photos = (photograph_plate(rng, "ru_car") for _ in range(100))
    return [photo for photo in photos if np.ptp(photo.quad[:, 0]) > NEAR_PX][:60]


def test_a_crop_says_what_its_plate_said_in_the_picture(server) -> None:
    rng = np.random.default_rng(1)
    pictures = [mosaic(rng) for _ in range(6)]
    plates, crops = [], []
    with PlateClient(server.options.http_url) as client:
        for picture in pictures:
            picture_plates = client.recognize(picture)
            boxes = np.array([plate.xyxy for plate in picture_plates], np.float32)
            plates += picture_plates
            crops += cut(picture, boxes)
        readings = client.read_crops(crops)
    assert len(plates) >= 70
    # At plates that lie aslant the service looks twice, which the ensemble does not.
    sure_pairs = [
        (reading, plate)
        for reading, plate in zip(readings, plates, strict=True)
        if reading.text_score > SURE_FROM and tilt_of(plate) < TILTED_DEG - 2
    ]
    assert len(sure_pairs) >= 15
    for reading, plate in sure_pairs:
        assert (reading.text, reading.format) == (plate.text, plate.format)
        assert reading.text_score == pytest.approx(plate.text_score, abs=1e-3)


def tilt_of(plate: Plate) -> float:
    return tilts_of(frames_around(np.array([plate.corners], np.float32))).item()


@pytest.mark.parametrize(
    ("margin", "least"),
    # Measured: 0.77, 0.84, 0.86, 0.74, 0.65 and 0.53.
    [(0.0, 0.7), (0.05, 0.76), (0.1, 0.78), (0.2, 0.66), (0.25, 0.58), (0.3, 0.46)],
)
def test_crops_are_read_at_any_tightness(server, photos_of_plates, margin, least) -> None:
    crops = [
        cut(
            photo.picture,
            np.array([[*photo.quad.min(axis=0), *photo.quad.max(axis=0)]], np.float32),
            margin_xy=(margin, margin),
        )[0]
        for photo in photos_of_plates
    ]
    with PlateClient(f"grpc://{server.options.grpc_url}") as client:
        texts = [plate.text for plate in client.read_crops(crops)]
    right = [text == photo.text for text, photo in zip(texts, photos_of_plates, strict=True)]
    assert np.mean(right) >= least


@pytest.fixture(scope="module")
def crops(server) -> list[np.ndarray]:
    """The three plates of the street."""
    picture = cv2.imread(str(STREET))
    with PlateClient(server.options.http_url) as client:
        plates = client.recognize(picture)
    return cut(picture, np.array([plate.xyxy for plate in plates], np.float32))


def test_a_plate_of_a_crop_has_the_crops_box_and_every_field_of_a_reading(client, crops) -> None:
    (plate,) = client.read_crops(crops[:1])
    height, width = crops[0].shape[:2]
    assert plate == Plate(
        xyxy=(0, 0, width, height),
        text=TEXTS[0],
        text_score=plate.text_score,
        raw_text=TEXTS[0],
        character_scores=plate.character_scores,
        candidates=plate.candidates,
        format="ru_taxi",
        region=PlateRegion("77", "Moscow"),
    )
    assert plate.candidates[0] == (TEXTS[0], plate.text_score)
    assert len(plate.character_scores) == len(TEXTS[0])


def test_files_and_arrays_are_read_in_their_order(client, crops, tmp_path) -> None:
    cv2.imwrite(str(tmp_path / "first.png"), crops[0])
    second = cv2.imencode(".png", crops[1])[1].tobytes()
    assert client.read_crops([tmp_path / "first.png", second, crops[2]]).texts == TEXTS
    assert len(client.read_crops([])) == 0


def test_an_unsure_text_is_not_shown(client, crops) -> None:
    (plate,) = client.read_crops(crops[:1], text_threshold=1)
    assert (plate.text, plate.raw_text, plate.format) == ("", TEXTS[0], "")


def test_a_picture_of_more_than_a_plate_is_refused(client, crops) -> None:
    with pytest.raises(RequestError, match=r"crop 1: .*wanted 1 to 16000000 pixels, got 5000x5000"):
        client.read_crops([crops[0], np.zeros((5000, 5000, 3), np.uint8)])
    assert client.read_crops(crops).texts == TEXTS
