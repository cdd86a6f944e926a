"""The verdict on a run: which difference from the truth breaks which promise."""

from dataclasses import replace

import pytest

from tests.workshop.benchmarks.camera_faults.passing_vehicles import (
    END_S,
    ENDING,
    EVENTS,
    HELD,
    LOOKS,
    MOMENTS,
    RIGHT,
    STREET,
    TEXTS,
    make_events,
    tell,
)
from workshop.benchmarks.camera_faults.evidence import Evidence, GateRequest
from workshop.benchmarks.camera_faults.judging import find_back_s, find_passing, is_all_told, judge
from workshop.benchmarks.camera_faults.report import (
    UNNOTICED,
    CameraPromise,
    CameraRow,
    Ending,
    Moments,
)

BLIND = CameraPromise(is_blind=True)


def verdict(
    evidence: Evidence = RIGHT,
    *,
    promise: CameraPromise = UNNOTICED,
    ending: Ending = ENDING,
    moments: Moments = MOMENTS,
    unlisted_s: float | None = None,
) -> CameraRow:
    return judge(
        ("name", "title"),
        STREET,
        moments,
        evidence,
        ending=ending,
        promise=promise,
        unlisted_s=unlisted_s,
    )


def test_a_run_without_a_difference_keeps_its_promise() -> None:
    row = verdict()
    assert row.broken == ()
    assert (row.gap_s, row.back_s, row.told_s) == (0.25, 0.0, 3.0)


def test_vehicles_at_the_edges_of_the_run_do_not_count() -> None:
    vehicles = find_passing(STREET, LOOKS, MOMENTS, is_blind=False)
    assert [vehicle.text for vehicle in vehicles] == TEXTS[1:]
    assert all(vehicle.must_be_told for vehicle in vehicles)


def test_vehicles_that_nobody_could_see_need_not_be_told() -> None:
    unseen = [look for look in LOOKS if not 13.0 < look.at_s < 22.0]
    vehicles = find_passing(STREET, unseen, MOMENTS, is_blind=True)
    assert [vehicle.text for vehicle in vehicles if not vehicle.must_be_told] == TEXTS[4:6]
    assert [vehicle.text for vehicle in vehicles if vehicle.is_in_fault] == TEXTS[3:6]


def test_all_is_told_when_the_passes_of_vehicles_that_have_left_are_closed() -> None:
    vehicles = find_passing(STREET, LOOKS, MOMENTS, is_blind=False)
    assert is_all_told(vehicles, RIGHT)
    assert is_all_told(vehicles, replace(RIGHT, unclosed=frozenset(["A000AC99"])))
    assert not is_all_told(vehicles, replace(RIGHT, unclosed=frozenset([TEXTS[4]])))
    assert not is_all_told(vehicles, tell("home", EVENTS[:8]))


@pytest.mark.parametrize(
    ("evidence", "broken"),
    [
        pytest.param(
            replace(RIGHT, pass_counts={text: 1 for text in TEXTS if text != TEXTS[4]}),
            "1 vehicles lost",
            id="not-stored",
        ),
        pytest.param(tell("home", EVENTS[:8] + EVENTS[10:]), "1 vehicles lost", id="not-told"),
        pytest.param(
            replace(RIGHT, pass_counts={**RIGHT.pass_counts, TEXTS[4]: 2}),
            "1 vehicles told twice",
            id="two-passes",
        ),
        pytest.param(
            tell("log", [*EVENTS[:9], replace(EVENTS[9], id="another"), *EVENTS[10:]]),
            "1 events under several ids",
            id="two-ids",
        ),
        pytest.param(
            tell("erp", [*EVENTS[:8], *reversed(make_events(4)), *EVENTS[10:]]),
            "1 events after their pass had ended",
            id="wrong-order",
        ),
        pytest.param(
            replace(RIGHT, requests=[*RIGHT.requests, GateRequest(4.0, TEXTS[1])]),
            "1 requests to the relay too many",
            id="stranger",
        ),
        pytest.param(
            replace(RIGHT, requests=[*RIGHT.requests, GateRequest(9.0, TEXTS[2])]),
            "1 requests to the relay too many",
            id="second-request",
        ),
        pytest.param(
            replace(RIGHT, requests=RIGHT.requests[:-1]),
            "the gate stayed shut for 1 vehicles",
            id="not-opened",
        ),
        pytest.param(
            replace(RIGHT, unclosed=frozenset(TEXTS[:1])), "1 passes not closed", id="unclosed"
        ),
        pytest.param(
            replace(RIGHT, looks=[look for look in LOOKS if not 18.0 < look.at_s < 21.25]),
            "3.2 s without a look",
            id="gap",
        ),
    ],
)
def test_each_difference_is_told(evidence: Evidence, broken: str) -> None:
    assert verdict(evidence).broken == (broken,)


def test_a_request_after_the_list_was_emptied_is_wrong() -> None:
    assert verdict(unlisted_s=20.0).wrong_openings == 2


def test_vehicles_that_pass_unseen_are_told_unless_cameras_are_blind() -> None:
    evidence = replace(RIGHT, looks=[look for look in LOOKS if not 15.75 < look.at_s < 18.0])
    assert verdict(evidence).broken == ("1 vehicles not seen",)
    assert verdict(evidence, promise=BLIND).unseen == 2
    assert verdict(evidence, promise=BLIND).broken == ()


@pytest.mark.parametrize(
    ("ending", "broken"),
    [
        pytest.param(replace(ENDING, status=1), "exit status 1", id="status"),
        pytest.param(replace(ENDING, seconds=32.0), "ended 32.0 s after SIGTERM", id="late"),
        pytest.param(replace(ENDING, status=None), "exit status None", id="no-end"),
        pytest.param(
            replace(ENDING, is_told=False),
            "nothing in the log or the metrics tells of it",
            id="silent",
        ),
        pytest.param(replace(ENDING, failures=("it broke",)), "it broke", id="of-the-fault"),
        pytest.param(
            replace(ENDING, after=replace(HELD, descriptors=60)),
            "60 descriptors, 30 before",
            id="descriptors",
        ),
        pytest.param(
            replace(ENDING, after=replace(HELD, threads=40)), "40 threads, 12 before", id="threads"
        ),
        pytest.param(
            replace(ENDING, after=replace(HELD, memory_bytes=300 << 20)),
            "200 MB of memory more",
            id="memory",
        ),
        pytest.param(
            replace(ENDING, after=replace(HELD, processes=1)), "1 processes, 2 before", id="child"
        ),
    ],
)
def test_what_the_command_left_is_told(ending: Ending, broken: str) -> None:
    assert verdict(ending=ending).broken == (broken,)


def test_cameras_that_come_back_late_or_never_are_told() -> None:
    late, never = replace(MOMENTS, back_s=33.5), replace(MOMENTS, back_s=None)
    assert verdict(moments=late).broken == ("the cameras came back after 11.5 s",)
    assert verdict(moments=never).broken == ("the cameras did not come back",)


def test_a_camera_is_back_when_it_has_its_rate() -> None:
    rare = [look for look in LOOKS if look.at_s > 26.0 or look.at_s % 2 == 0]
    assert find_back_s(rare, 1, 22.0, END_S) == 26.0
    assert find_back_s(rare, 1, 22.0, 26.0) is None
    assert find_back_s(rare, 2, 22.0, END_S) is None
