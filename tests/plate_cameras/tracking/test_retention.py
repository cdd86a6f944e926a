import pytest

from plate_cameras.tracking.retention import MAX_FRAMES, BestFrames
from tests.plate_cameras.passing import look, plate

TEXTS = ("A111AA77", "A222AA77", "A333AA77", "A444AA77")


@pytest.mark.parametrize(
    ("likely", "times_s"),
    [
        pytest.param(TEXTS, [0, 1, 2, 0], id="the least likely"),
        pytest.param(TEXTS[1:], [1, 1, 2, 3], id="not likely any more"),
    ],
)
def test_of_too_many_texts_one_has_no_frame_of_its_own(
    likely: tuple[str, ...], times_s: list[float]
) -> None:
    """For that text, the best frame of all is shown."""
    frames = BestFrames()
    for number, text in enumerate(TEXTS):
        frames.add(look(number, plate((300, 200), text, 0.9 - number / 10)), likely)
    assert len({*times_s}) == MAX_FRAMES
    assert [frames.observation(text).time_s for text in TEXTS] == times_s
