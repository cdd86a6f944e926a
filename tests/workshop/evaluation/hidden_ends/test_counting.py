"""Plates whose right end is hidden: what is counted, and what hides them."""

from itertools import islice

import numpy as np
import pytest

from orchestrator.plates import Plate
from tests.real_networks import load_int8
from workshop.evaluation.hidden_ends.counting import (
    EDGE,
    KINDS,
    MAX_HIDDEN,
    Count,
    count_hidden,
    describe,
    hide,
    render_targets,
    share_of,
)
from workshop.evaluation.reading import SURE

LONG, SHORT = "A123BC186", "A123BC18"


def plate(best: str, score: float, *, is_shown: bool = True) -> Plate:
    text = best if is_shown else ""
    candidates = ((best, score),) if best else ()
    return Plate((0, 0, 1, 1), text=text, text_score=score, candidates=candidates)


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        pytest.param(None, (1, 0, 0, 0, 0), id="not found"),
        pytest.param(plate("", 0.0), (1, 0, 0, 0, 0), id="no reading"),
        pytest.param(plate(LONG, SURE), (1, 1, 0, 0, 0), id="read"),
        pytest.param(plate(SHORT, 0.5, is_shown=False), (1, 0, 1, 0, 0), id="shorter, not shown"),
        pytest.param(plate(SHORT, SURE - 0.01), (1, 0, 1, 0, 0), id="shorter, not sure"),
        pytest.param(plate(SHORT, SURE), (1, 0, 1, 1, 0), id="shorter and sure"),
        pytest.param(plate("A123BC18" + "0", SURE), (1, 0, 0, 0, 1), id="another text"),
        pytest.param(plate("B123BC18", SURE), (1, 0, 0, 0, 1), id="another, shorter text"),
    ],
)
def test_an_answer_is_counted_once(answer: Plate | None, counts: tuple[int, ...]) -> None:
    count = Count()
    count.add(LONG, answer)
    assert tuple(vars(count).values()) == counts


def test_the_share_is_of_all_plates() -> None:
    post, snow = Count(), Count()
    for answer in (plate(SHORT, SURE), plate(LONG, SURE), None):
        post.add(LONG, answer)
    snow.add(LONG, plate(LONG, SURE))
    counts = {"post": post, "snow": snow}
    assert share_of(counts) == 0.25
    assert share_of({}) == 0.0
    assert describe(counts).splitlines()[-1] == "sure and shorter: 25.0 %"


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_the_right_end_of_a_plate_is_hidden(kind: str) -> None:
    quad = np.array([[100.0, 80.0], [300.0, 80.0], [300.0, 120.0], [100.0, 120.0]])
    picture = np.full((200, 400, 3), (0, 255, 0), np.uint8)
    hidden = hide(np.random.default_rng(0), picture, quad, kind)
    left_x = round(300 - 200 * (MAX_HIDDEN + 0.04))
    assert (hidden[:, :left_x] == picture[:, :left_x]).all()
    assert (hidden.shape[1] < picture.shape[1]) == (kind == EDGE)


def test_rendered_plates_have_regions_of_three_digits() -> None:
    targets = list(islice(render_targets(2), 2))
    assert [len(target.label.text) for target in targets] == [9, 9]
    assert targets[0].label.text != targets[1].label.text
    assert all(target.quad is not None for target in targets)


@pytest.mark.server
def test_each_kind_is_counted_for_plates_that_are_read() -> None:
    counts = count_hidden(render_targets(1), load_int8())
    assert {kind: count.looks for kind, count in counts.items()} == dict.fromkeys(KINDS, 1)
