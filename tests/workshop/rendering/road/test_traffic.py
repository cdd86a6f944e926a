import numpy as np
import pytest

from workshop.rendering.road.traffic import CAR_GAP_M, SCENARIOS, Course, Road, stop, tailgate

ROAD = Road(near_m=-5, far_m=20, lanes=(0, 1))


def test_a_course_is_interpolated_and_has_ends() -> None:
    course = Course(np.array([1.0, 2.0]), np.array([[0.0, 10.0], [0.0, 6.0]]), front=True)
    assert course.place(1.25) == (0.0, 9.0)
    assert course.place(0.9) is None
    assert course.shift(2).place(3.25) == (0.0, 9.0)
    assert course.mean_speed(1.0, 1.5) == pytest.approx(4)


@pytest.mark.parametrize("scenario", [pytest.param(name, id=name) for name in SCENARIOS])
def test_the_same_seed_gives_the_same_courses(scenario: str) -> None:
    first, second = (SCENARIOS[scenario](np.random.default_rng(3), ROAD) for _ in range(2))
    assert [course.front for course in first] == [course.front for course in second]
    assert all(
        np.array_equal(first_course.places, second_course.places)
        for first_course, second_course in zip(first, second, strict=True)
    )


def test_vehicles_that_follow_each_other_keep_their_distance() -> None:
    courses = tailgate(np.random.default_rng(1), ROAD)
    middle = float(courses[1].times_s.mean())
    ys = [place[1] for course in courses if (place := course.place(middle))]
    assert len(ys) >= 2
    assert np.abs(np.diff(ys)).min() >= CAR_GAP_M - 0.1


def test_a_vehicle_that_stops_stands_for_two_seconds_at_least() -> None:
    (course,) = stop(np.random.default_rng(2), ROAD)
    standing = np.diff(course.places[:, 1]) == 0
    assert standing.sum() * 0.04 >= 2
