import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plates import Plate
from plate_cameras.passes import Observation
from plate_cameras.tracking.fusion import MAX_CORRELATION, MAX_EVIDENCE, fuse, weigh
from tests.fuzzing.profiles import quick
from tests.plate_cameras.passing import observation, plate

RIGHT, WRONG = "A123BC77", "A128BC77"


def look(
    number: int, text: str = RIGHT, score: float = 0.8, *, sharpness: float = 1.0
) -> Observation:
    """Return a look of a vehicle that moves by two plate widths in half a second."""
    return observation(number / 2, plate((200 + 200 * number, 100), text, score), sharpness)


@quick
@given(
    st.lists(
        st.tuples(
            st.floats(0, 1000),
            st.lists(st.tuples(st.text("ABC123", max_size=9), st.floats(0, 1)), max_size=5),
            st.floats(0, 1),
            st.floats(1, 400),
        ),
        max_size=12,
    )
)
def test_scores_are_probabilities_of_different_texts(
    looks: list[tuple[float, list[tuple[str, float]], float, float]],
) -> None:
    observations = [
        observation(
            time_s,
            replace(plate((500, 100), width=width), candidates=normalize(scores)),
            sharpness,
        )
        for time_s, scores, sharpness, width in looks
    ]
    fusion = fuse(observations)
    scores = [score for _, score in fusion.candidates]
    assert all(0 <= score <= 1 for score in scores)
    assert sum(scores) <= 1 + 1e-9
    assert scores == sorted(scores, reverse=True)
    assert len({text for text, _ in fusion.candidates}) == len(scores) <= 5
    assert len(fusion.weights) == len(observations)
    assert sum(fusion.weights) == pytest.approx(1) or not any(fusion.weights)


def normalize(scores_: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Return candidates whose texts differ and whose scores sum to at most 1."""
    total = max(1.0, sum(score for _, score in scores_))
    return tuple({text: (text, score / total) for text, score in scores_}.values())


def test_without_a_reading_there_is_no_text() -> None:
    fusion = fuse([look(0, "")])
    assert (fusion.text, fusion.score, fusion.weights) == ("", 0.0, (0.0,))
    assert fuse([]).candidates == ()


def test_two_looks_are_surer_than_one_if_they_agree() -> None:
    score_alone, score_agreed, score_disagreed = (
        fuse([look(0), *more]).score for more in ([], [look(1)], [look(1, WRONG)])
    )
    assert score_disagreed < score_alone < score_agreed
    assert score_alone > 0.7


def test_the_score_grows_with_the_score_of_a_look() -> None:
    scores = [fuse([look(0), look(1, score=score)]).score for score in (0.3, 0.5, 0.7, 0.9, 1.0)]
    assert scores == sorted(scores)


def test_a_smeared_look_that_is_certain_counts_little() -> None:
    smeared_look = look(3, WRONG, 1.0, sharpness=0.02)
    assert fuse([smeared_look]).score < 0.75
    fusion = fuse([look(0), look(1), look(2), smeared_look])
    assert fusion.text == RIGHT
    assert fusion.score > 0.95
    assert fusion.weights[3] < 0.1


def test_a_hundred_looks_at_a_standing_car_are_hardly_surer_than_ten() -> None:
    standing = [observation(i / 25, plate((500, 100), score=0.7)) for i in range(100)]
    assert fuse(standing[:10]).score < fuse(standing).score < fuse([look(0), look(1)]).score + 0.2
    assert sum(weigh(standing)) < 3


def test_looks_of_a_moving_car_count_up_to_a_limit() -> None:
    assert sum(weigh([look(number) for number in range(40)])) == pytest.approx(MAX_EVIDENCE)


def test_a_larger_plate_weighs_more() -> None:
    small, large = plate((100, 100), width=30), plate((900, 100), width=120)
    weights = fuse([observation(0, small), observation(5, large)]).weights
    assert weights[0] < weights[1] / 2


@pytest.mark.parametrize("step", [(150, 0), (-150, 0), (0, 150), (0, -150)])
def test_a_step_in_any_direction_shows_as_much_that_is_new(step: tuple[float, float]) -> None:
    second_plate = plate((500 + step[0], 400 + step[1]))
    weights = weigh([observation(0, plate((500, 400))), observation(0, second_plate)])
    assert weights == pytest.approx([1 / (1 + MAX_CORRELATION * math.exp(-1.5))] * 2)


def test_an_answer_with_a_text_alone_counts() -> None:
    bare = Plate(xyxy=(0, 0, 100, 20), text=RIGHT, text_score=0.9)
    assert fuse([observation(0, bare)]).text == RIGHT
