"""Plates across borders, with the real networks: no text of another plate is shown."""

from collections.abc import Sequence

import pytest

from orchestrator.networks.export import Networks
from tests.real_networks import load_int8
from workshop.evaluation.bordered_plates import Drawn, draw_plates
from workshop.evaluation.borders import KINDS, SURE, Count, Shown, count_texts, describe

pytestmark = pytest.mark.server

PARTS = (0.04, 0.1)
"""Shares of a plate beyond a border; without its third digit, a region's code is another one."""


@pytest.fixture(scope="module")
def networks() -> Networks:
    return load_int8()


@pytest.fixture(scope="module")
def plates(networks: Networks) -> Sequence[Drawn]:
    return [*draw_plates(4, networks)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_plate_across_a_border_is_read_as_itself_or_not_at_all(
    kind: str, plates: Sequence[Drawn], networks: Networks
) -> None:
    texts = {
        (drawn.text, shown.text)
        for drawn in plates
        for part in PARTS
        for shown in KINDS[kind](drawn, part, networks)
    }
    assert {(own, text) for own, text in texts if text not in ("", own)} == set()


@pytest.mark.parametrize("side", ["left", "top", "right", "bottom"])
def test_a_plate_that_the_border_of_a_region_cuts_is_read(
    side: str, plates: Sequence[Drawn], networks: Networks
) -> None:
    look = KINDS[f"region, {side}"]
    read = [[shown.text for shown in look(drawn, 0.25, networks)] for drawn in plates]
    assert read == [[drawn.text] for drawn in plates]


def test_each_kind_of_border_is_counted(networks: Networks) -> None:
    counts = count_texts(1, networks)
    assert {name: (one.read + one.unread, one.others) for name, one in counts.items()} == {
        name: (1, []) for name in KINDS
    }


def test_texts_of_other_plates_are_told_with_their_scores() -> None:
    count = Count()
    count.add("A123BC777", [Shown("A123BC777", 0.9), Shown("", 0.0)])
    count.add("A123BC777", [Shown("", 0.0), Shown("A123BC77", 0.7)])
    count.add("A123BC777", [])
    assert (count.read, count.unread, count.sure) == (1, 1, 0)
    count.add("A123BC777", [Shown("A123BC77", SURE)])
    assert count.sure == 1
    assert describe({"tiles": count}).splitlines()[-2:] == [
        "tiles: A123BC777: A123BC77, 0.70",
        "tiles: A123BC777: A123BC77, 0.90",
    ]
