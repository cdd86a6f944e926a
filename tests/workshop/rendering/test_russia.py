"""Russian plates of every format: sizes, colours, what differs."""

import numpy as np
import pytest

from orchestrator.formats.plate_formats import russian
from workshop.rendering.country import russia
from workshop.rendering.russia_parts import LOOKS

EXAMPLES = {
    "ru_car": "A123BC77", "ru_car_square": "A999/CB21", "ru_taxi": "TO05577",
    "ru_trailer": "AP947756", "ru_tractor": "1234/AB77", "ru_motorcycle": "1234/AB77",
    "ru_offroad": "AB77/1234", "ru_moped": "AB12/CE77", "ru_military": "3425EE43",
    "ru_military_square": "3425/EE43", "ru_military_trailer": "EE342543",
    "ru_military_tractor": "3425/EE43", "ru_military_motorcycle": "3425/EE43",
    "ru_diplomatic_head": "004CD177", "ru_diplomatic": "167D00177", "ru_transit": "TK647C77",
    "ru_export": "TKA12865", "ru_police": "A123477", "ru_police_trailer": "123A77",
    "ru_police_motorcycle": "1234/A77",
}  # fmt: skip


def draw_plate(text: str, name: str, seed: int | None = None) -> np.ndarray:
    rng = None if seed is None else np.random.default_rng(seed)
    return russia().plate_of(text, format_name=name, rng=rng).picture


def test_every_format_has_a_look_and_an_example() -> None:
    assert {plate_format.name for plate_format in russian().format} == {*LOOKS} == {*EXAMPLES}


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_a_plate_has_one_of_the_sizes_of_its_format(name: str, text: str) -> None:
    wide, high = LOOKS[name].sizes_mm[0]
    assert draw_plate(text, name).shape == (round(1.5 * high), round(1.5 * wide), 3)


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_most_of_a_plate_is_paper_and_what_is_read_is_ink(name: str, text: str) -> None:
    picture, look = draw_plate(text, name), LOOKS[name]
    shares = [(picture == colour).all(axis=2).mean() for colour in (look.paper, look.ink)]
    assert 0.4 < shares[0] < 0.9
    assert 0.05 < shares[1] < 0.4


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items())
def test_no_character_touches_the_edge(name: str, text: str) -> None:
    plate = draw_plate(text, name)
    edges = (plate[:2], plate[-2:], plate[:, :2], plate[:, -2:])
    assert all((edge == LOOKS[name].paper).all() for edge in edges)


def test_a_plate_of_american_size_has_the_whole_number_above() -> None:
    square, american = (draw_plate(text, "ru_car_square") for text in ("A321/MX25", "A321MX/125"))
    assert square.shape[1] / square.shape[0] == pytest.approx(290 / 170, abs=0.01)
    assert american.shape[1] / american.shape[0] == pytest.approx(305 / 152, abs=0.01)


def test_a_transit_plate_is_yellow_behind_its_region_alone() -> None:
    yellow = LOOKS["ru_transit"].code_paper
    columns = (draw_plate("TK647C77", "ru_transit") == yellow).all(axis=2).any(axis=0).nonzero()[0]
    assert 0.7 < columns.min() / 780 < 0.8
    assert not (draw_plate("A123BC77", "ru_car") == yellow).all(axis=2).any()


def test_motorcycles_have_two_sizes() -> None:
    sizes = {draw_plate("1234/AB77", "ru_motorcycle", seed).shape[:2] for seed in range(12)}
    assert sizes == {(278, 368), (218, 285)}


@pytest.mark.parametrize("text", ["A123BC7", "1234/AB77", "167D00177"])
def test_a_text_of_another_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="wanted one of the formats ru_car, got"):
        russia().plate_of(text, format_name="ru_car")
