"""Properties of passes: their ids, events and clocks."""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from operator import and_, or_
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.plates import Plate, Plates
from plate_cameras.passes import PassEvent
from plate_cameras.tracking.pass_tracker import PassTracker, make_pass_id
from tests.plate_cameras.passing import follow, kinds, live_frame, new_tracker, plate

Looks = list[tuple[float, Sequence[Plate]]]
FIRST, SECOND = "A123BC77", "M456OP199"
WALL, STEADY = 1_800_000_000.0, 70.0


@pytest.mark.parametrize(
    ("time_s", "number", "time_ms", "kept_number"),
    [
        pytest.param(1_750_000_000.125, 5, 1_750_000_000_125, 5, id="today"),
        pytest.param(-2.0, 0, 0, 0, id="before 1970"),
        pytest.param(2**48 / 1000 - 0.001, 0xFFF, 2**48 - 1, 0xFFF, id="the last of all"),
        pytest.param(2**48 / 1000 + 0.001, 0x1001, 1, 1, id="later ones begin anew"),
    ],
)
def test_an_id_is_a_uuid_of_version_seven_whose_rest_is_chance(
    time_s: float, number: int, time_ms: int, kept_number: int
) -> None:
    text = make_pass_id(time_s, number)
    uuid = UUID(text)
    assert (str(uuid), uuid.version, uuid.variant) == (text, 7, RFC_4122)
    assert (uuid.int >> 80, uuid.int >> 64 & 0xFFF) == (time_ms, kept_number)
    chances = [UUID(make_pass_id(time_s, number)).int & (1 << 64) - 1 for _ in range(200)]
    assert reduce(or_, chances) == (0b10 << 62) + (1 << 62) - 1  # the variant, and any bits
    assert reduce(and_, chances) == 0b10 << 62


ANY_PLATE = st.builds(
    lambda x, y, width, text, score: plate((x, y), text, score, width=width),
    st.floats(20, 980),
    st.floats(20, 480),
    st.floats(5, 300),
    st.sampled_from(["", FIRST, SECOND, "A124BC77"]),
    st.floats(0, 1),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 4), st.lists(ANY_PLATE, max_size=4)), max_size=25))
def test_every_pass_is_closed_once_and_agrees_once(steps: list[tuple[float, list[Plate]]]) -> None:
    tracker: PassTracker = new_tracker()
    time_s, looks = 0.0, []
    for step, plates in steps:
        time_s += step
        looks.append((time_s, plates))
    events = follow(tracker, looks)
    closed_ids = [event.vehicle_pass.id for event in events if event.kind == "closed"]
    agreed_ids = [event.vehicle_pass.id for event in events if event.kind == "agreed"]
    assert len(set(closed_ids)) == len(closed_ids)
    assert len(set(agreed_ids)) == len(agreed_ids)
    assert set(agreed_ids) <= set(closed_ids)
    last_kinds = {event.vehicle_pass.id: event.kind for event in events}
    assert set(last_kinds.values()) <= {"closed"}
    assert all(
        event.vehicle_pass.first_seen_s <= event.vehicle_pass.last_seen_s for event in events
    )
    assert tracker.open_passes == 0


def follow_live(looks: Looks, steps_s: Sequence[float]) -> list[PassEvent]:
    """Follow plates at steady times; before each frame, the Unix time jumps by a step."""
    tracker, events = new_tracker(), []
    for (time_s, plates), offset_s in zip(looks, accumulate(steps_s), strict=True):
        shot = live_frame(STEADY + time_s, WALL + time_s + offset_s)
        events += [*tracker.advance(STEADY + time_s), *tracker.update(shot, Plates((*plates,)))]
    return events + tracker.close()


def test_a_machine_whose_clock_was_never_set_begins_no_new_stream() -> None:
    tracker = new_tracker()
    for time_s in (0.0, 0.5):
        plates = Plates((plate((100 + 300 * time_s, 100)),))
        tracker.update(live_frame(STEADY + time_s, time_s), plates)  # 1970
    assert tracker.open_passes == 1
    assert len(tracker.close()[0].vehicle_pass.observations) == 2


STEPS = st.sampled_from([0.0, 0.0, 0.0, -3600.0, -4.0, -0.3, 1.0, 60.0, 1e6])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 4), st.lists(ANY_PLATE, max_size=3), STEPS), max_size=20),
)
def test_steps_of_the_wall_clock_change_nothing_but_the_times_that_are_shown(
    frames: list[tuple[float, list[Plate], float]],
) -> None:
    times_s = accumulate(pause_s for pause_s, _, _ in frames)
    looks: Looks = [
        (time_s, plates) for time_s, (_, plates, _) in zip(times_s, frames, strict=True)
    ]
    usual_events = follow_live(looks, [0.0] * len(looks))
    stepped_events = follow_live(looks, [step_s for _, _, step_s in frames])
    assert kinds(stepped_events) == kinds(usual_events)
    offsets: dict[str, set[float]] = {}
    for stepped_event, usual_event in zip(stepped_events, usual_events, strict=True):
        assert stepped_event.vehicle_pass.last_moment_s == usual_event.vehicle_pass.last_moment_s
        offset_s = stepped_event.vehicle_pass.last_seen_s - usual_event.vehicle_pass.last_seen_s
        offsets.setdefault(stepped_event.vehicle_pass.id, set()).add(round(offset_s, 3))
    assert {len(offsets_s) for offsets_s in offsets.values()} <= {1}
