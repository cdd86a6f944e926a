import pytest

from plate_cameras.configuration import Camera, Line, Zone
from plate_cameras.tracking.zones import contains, counts_at, find_zones, meets, side_of

SQUARE = ((0.2, 0.2), (0.6, 0.2), (0.6, 0.6), (0.2, 0.6))
BAY = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.0, 1.0))
ACROSS = Line("across", ((0.0, 0.5), (1.0, 0.5)))
"""A line to the right; its left side is above it in the picture."""
BACK = Line("back", ((1.0, 0.5), (0.0, 0.5)))


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
    ("camera", "counts"),
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
def test_which_plates_count(camera: Camera, counts: bool) -> None:
    assert counts_at(camera, (0.25, 0.5)) is counts


@pytest.mark.parametrize(
    ("line", "point", "expected"),
    [
        pytest.param(ACROSS, (0.3, 0.3), ("left", 0.2), id="above a line to the right"),
        pytest.param(ACROSS, (0.3, 0.8), ("right", 0.3), id="below it"),
        pytest.param(BACK, (0.3, 0.3), ("right", 0.2), id="the line the other way round"),
    ],
)
def test_the_side_of_a_line_and_the_distance_from_it(
    line: Line, point: tuple[float, float], expected: tuple[str, float]
) -> None:
    side, distance = side_of(line, point)
    assert (side, distance) == (expected[0], pytest.approx(expected[1]))


@pytest.mark.parametrize(
    ("after", "is_met"),
    [
        pytest.param((0.5, 0.7), True, id="through it"),
        pytest.param((0.9, 0.7), False, id="round its end"),
    ],
)
def test_a_way_leads_through_a_line_or_round_it(after: tuple[float, float], is_met: bool) -> None:
    short = Line("short", ((0.3, 0.5), (0.6, 0.5)))
    assert meets(short, (0.5, 0.3), after) is is_met
