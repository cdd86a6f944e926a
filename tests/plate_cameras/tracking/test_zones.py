import pytest

from plate_cameras.configuration import Camera, Line, Zone
from plate_cameras.tracking.zones import contains, find_zones, is_watched, meets, side_of

SQUARE = ((0.2, 0.2), (0.6, 0.2), (0.6, 0.6), (0.2, 0.6))
BAY = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.0, 1.0))
ACROSS = Line("across", ((0.0, 0.5), (1.0, 0.5)))
"""A line to the right; its left side is above it in the picture."""


@pytest.mark.parametrize(
    ("polygon", "point", "inside"),
    [
        pytest.param(SQUARE, (0.4, 0.4), True, id="in the middle"),
        pytest.param(SQUARE, (0.7, 0.4), False, id="beside it"),
        pytest.param(SQUARE, (0.4, 0.1), False, id="above it"),
        pytest.param(SQUARE, (0.2, 0.4), True, id="on its left edge"),
        pytest.param(SQUARE, (0.6, 0.4), False, id="on its right edge"),
        pytest.param(BAY, (0.5, 0.7), False, id="in a notch"),
        pytest.param(BAY, (0.1, 0.7), True, id="beside a notch"),
    ],
)
def test_points_of_a_polygon(
    polygon: tuple[tuple[float, float], ...], point: tuple[float, float], inside: bool
) -> None:
    assert contains(polygon, point) is inside


def test_two_zones_that_share_an_edge_do_not_both_have_its_points() -> None:
    right = Zone("right", ((0.6, 0.2), (0.9, 0.2), (0.9, 0.6), (0.6, 0.6)))
    camera = Camera("c", "x", zones=(Zone("left", SQUARE), right))
    assert find_zones(camera, (0.6, 0.4)) == ("right",)


def test_zones_that_overlap_come_in_the_order_of_the_configuration() -> None:
    camera = Camera("c", "x", zones=(Zone("b", SQUARE), Zone("a", SQUARE)))
    assert find_zones(camera, (0.4, 0.4)) == ("b", "a")


@pytest.mark.parametrize(
    ("camera", "watched"),
    [
        pytest.param(Camera("c", "x"), True, id="without zones"),
        pytest.param(Camera("c", "x", masks=(Zone("sky", SQUARE),)), False, id="in a mask"),
        pytest.param(
            Camera("c", "x", zones=(Zone("z", BAY),), only_in_zones=True), True, id="in a zone"
        ),
        pytest.param(
            Camera("c", "x", zones=(Zone("z", SQUARE[:3]),), only_in_zones=True),
            False,
            id="outside all zones",
        ),
        pytest.param(
            Camera("c", "x", zones=(Zone("z", SQUARE[:3]),)), True, id="zones only reported"
        ),
    ],
)
def test_which_plates_count(camera: Camera, watched: bool) -> None:
    assert is_watched(camera, (0.25, 0.5)) is watched


@pytest.mark.parametrize(
    ("point", "side"),
    [
        pytest.param((0.3, 0.3), "left", id="above a line to the right"),
        pytest.param((0.3, 0.9), "right", id="below it"),
    ],
)
def test_the_side_of_a_line(point: tuple[float, float], side: str) -> None:
    assert side_of(ACROSS, point)[0] == side


def test_the_distance_from_a_line() -> None:
    assert side_of(ACROSS, (0.3, 0.8))[1] == pytest.approx(0.3)


def test_a_line_the_other_way_round_has_its_sides_exchanged() -> None:
    back = Line("back", ((1.0, 0.5), (0.0, 0.5)))
    assert side_of(back, (0.3, 0.3))[0] == "right"


@pytest.mark.parametrize(
    ("after", "crossed"),
    [
        pytest.param((0.5, 0.7), True, id="through it"),
        pytest.param((0.9, 0.7), False, id="round its end"),
    ],
)
def test_a_way_leads_through_a_line_or_round_it(after: tuple[float, float], crossed: bool) -> None:
    short = Line("short", ((0.3, 0.5), (0.6, 0.5)))
    assert meets(short, (0.5, 0.3), after) is crossed
