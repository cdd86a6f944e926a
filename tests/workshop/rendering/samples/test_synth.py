import numpy as np
import pytest

from orchestrator.formats.layouts import lines_of
from orchestrator.formats.plate_formats import COUNTRIES, russian
from workshop.rendering.camera import View, compress, photograph, random_view, soil, warp
from workshop.rendering.country import country_of, russia
from workshop.rendering.samples.photos import Photo, photograph_plate
from workshop.rendering.samples.synth import (
    corners_in_crop,
    cut,
    cut_sample,
    draw_sheet,
    render_sample,
    render_samples,
)
from workshop.rendering.scenery import scene
from workshop.rendering.texts import find_format

FORMAT_NAMES = [form.name for form in russian().format]


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_every_format_renders(name: str) -> None:
    crop, text, corners = render_sample(np.random.default_rng(5), name)
    assert crop.shape == (24, 94, 3)
    assert crop.dtype == np.uint8
    is_flat = not np.isnan(corners).any()
    lines = lines_of(find_format(russian(), name).layouts[0])
    if lines == 2 and is_flat:  # to be found, not to be read
        assert text == ""
    else:
        assert russian().format_of(text, lines)


def test_the_seed_decides_which_plates_are_rendered() -> None:
    first, second, other = (render_samples(3, seed=seed) for seed in (7, 7, 8))
    assert first.texts == second.texts != other.texts
    assert (first.crops == second.crops).all()
    assert np.array_equal(first.corners, second.corners, equal_nan=True)


@pytest.mark.parametrize(
    ("width_px", "shape", "half_wh"),
    [
        pytest.param(520, {}, (260, 56), id="a car's plate"),
        pytest.param(100, {"proportion": 1}, (50, 50), id="a square one"),
    ],
)
def test_a_plate_seen_straight_on_is_a_rectangle(width_px: float, shape, half_wh) -> None:
    quad = View(yaw=0, pitch=0, roll=0, width_px=width_px).quad(**shape)
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    np.testing.assert_allclose(quad, signs * half_wh)


def test_a_plate_warped_onto_a_picture_covers_its_quadrilateral_only() -> None:
    behind, plate = np.zeros((60, 80, 3), np.uint8), np.full((112, 520, 3), 200, np.uint8)
    quad = np.array([[20.0, 20], [60, 20], [60, 30], [20, 30]])
    result = warp(plate, behind, quad)
    assert result[25, 40].tolist() == [200] * 3
    assert result[40, 40].tolist() == [0] * 3
    assert behind.max() == 0


def test_weather_and_camera_leave_their_input_alone() -> None:
    rng = np.random.default_rng(0)
    plate = russia().plate_of("A123BC77").picture
    before = plate.copy()
    assert soil(rng, plate).shape == photograph(rng, plate).shape == plate.shape
    assert compress(plate, 50).shape == plate.shape
    assert (plate == before).all()


def test_views_keep_the_plate_as_wide_as_asked() -> None:
    view = random_view(np.random.default_rng(0), (80, 90))
    assert 80 <= view.width_px <= 90


def test_corners_are_told_in_parts_of_the_crop() -> None:
    # The box 20..120 x 20..60 grows to 12..128 x 10..70, a crop of 116 x 60 pixels.
    quad = np.array([[12.0, 10], [70, 10], [128, 70], [12, 70]])
    corners = corners_in_crop(np.zeros((80, 140, 3), np.uint8), np.array([20.0, 20, 120, 60]), quad)
    assert corners.tolist() == [[-1, -1], [0, -1], [1, 1], [-1, 1]]


def test_of_two_lines_the_upper_lies_left_of_the_lower() -> None:
    picture = np.zeros((200, 300, 3), np.uint8)
    picture[:100] = 200
    crop = cut(picture, np.array([100.0, 80, 200, 120]), lines=2)
    assert crop.shape == (24, 94, 3)
    assert crop[:, :46].min() > 180
    assert crop[:, 48:].max() < 20


def square_photo() -> Photo:
    kazakhstan = country_of(COUNTRIES / "kazakhstan" / "formats.toml")
    return photograph_plate(np.random.default_rng(1), "kz_car_square", country=kazakhstan)


def test_a_plate_of_two_lines_is_found_at_the_first_look_and_read_at_the_second() -> None:
    photo = square_photo()
    looks = [cut_sample(np.random.default_rng(seed), photo) for seed in range(12)]
    for look in looks:
        assert look.text == ("" if np.isfinite(look.corners).all() else photo.text)
    assert {look.text for look in looks} == {"", photo.text}


def test_at_a_second_look_the_corners_are_where_the_frame_says() -> None:
    photo = photograph_plate(np.random.default_rng(3), "ru_car")
    for seed in range(20):
        look = cut_sample(np.random.default_rng(seed), photo, again=1.0)
        # The plate nearly fills the crop: a frame has little room, and is a little off.
        assert np.abs(np.abs(look.corners) - [0.89, 0.71]).max() < 0.7


def test_a_scene_tells_where_its_plates_are() -> None:
    texts = ("A123BC77", "M456OP199", "AB12345")
    street = scene(texts, (640, 480), seed=1)
    assert street.picture.shape == (480, 640, 3)
    assert street.texts == texts
    assert (street.xyxy[:, :2] >= 0).all()
    assert (street.xyxy[:, 2:] <= [640, 480]).all()
    assert np.allclose(street.xyxy[:, :2], street.quads.min(axis=1))
    x0, y0, x1, y1 = street.xyxy[0].round().astype(int)
    plate = street.picture[y0 + 2 : y1 - 2, x0 + 2 : x1 - 2]
    assert np.median(plate) > 170
    assert plate.min() < 90


def test_a_scene_is_the_same_for_the_same_seed() -> None:
    assert (scene([], (64, 48), seed=3).picture == scene([], (64, 48), seed=3).picture).all()


def test_of_formats_that_say_the_same_the_one_that_is_named_is_drawn() -> None:
    names = "ru_military_square", "ru_tractor"
    dark, light = (scene(["1234/AB77"], (320, 240), format_names=[name]) for name in names)
    x0, y0, x1, y1 = dark.xyxy[0].astype(int)
    assert np.median(dark.picture[y0:y1, x0:x1]) < 90
    x0, y0, x1, y1 = light.xyxy[0].astype(int)
    assert np.median(light.picture[y0:y1, x0:x1]) > 170


def test_a_text_without_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"wanted one of the formats ru_car, .*, got 'HELLO'"):
        scene(["HELLO"], (64, 48))


def test_a_sheet_shows_every_crop() -> None:
    plates = draw_sheet(render_samples(3, seed=0), columns=2)
    assert plates.shape == (2 * (24 + 48) + 3 * 8, 2 * 188 + 3 * 8, 3)
