"""Ages of states, while clocks differ or are set."""

import pytest

from plate_cameras.store.writing.live_tables import TOLD_WITHIN_S, CameraState, StateAges
from tests.plate_cameras.store.stored_events import NOW_S


class Ages:
    """The ages as one process sees them, whose clocks tests move."""

    def __init__(self) -> None:
        self.steady_s, self.unix_s = 100.0, NOW_S
        self.ages = StateAges(lambda: self.steady_s, lambda: self.unix_s)

    def is_fresh(self, updated_s: float) -> bool:
        return bool(self.ages.fresh({"gate": CameraState("gate", "w", updated_s, {})}))


@pytest.mark.parametrize(
    ("updated_s", "is_fresh"),
    [
        pytest.param(NOW_S - TOLD_WITHIN_S, True, id="of-a-moment-ago"),
        pytest.param(NOW_S - TOLD_WITHIN_S - 1, False, id="old"),
        pytest.param(NOW_S + 3600, True, id="of-a-clock-ahead"),
    ],
)
def test_the_first_state_is_believed_by_its_time_and_the_second_by_its_change(
    updated_s: float, is_fresh: bool
) -> None:
    ages = Ages()
    assert ages.ages.fresh({}) == set()
    assert ages.is_fresh(updated_s) is is_fresh
    ages.steady_s += 2
    assert ages.is_fresh(updated_s + 2)


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0, 40 * 86400.0])
def test_a_clock_that_is_set_makes_no_camera_unknown(step_s: float) -> None:
    ages = Ages()
    assert ages.is_fresh(NOW_S)
    ages.unix_s += step_s
    assert ages.is_fresh(NOW_S)
    ages.steady_s += 2
    assert ages.is_fresh(NOW_S + step_s + 2)


def test_a_watcher_that_has_died_is_unknown_whatever_its_clock_said() -> None:
    ages = Ages()
    assert ages.is_fresh(NOW_S + 3600)
    ages.steady_s += TOLD_WITHIN_S
    assert ages.is_fresh(NOW_S + 3600)
    ages.steady_s += 1
    assert not ages.is_fresh(NOW_S + 3600)
