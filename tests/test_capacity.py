"""How many workers and threads fit a machine."""

import pytest

from orchestrator.triton.capacity import Capacity, fitting


@pytest.mark.parametrize(
    ("cores", "capacity"),
    [
        (1, Capacity(threads=1, instances=1, pictures=2)),
        (2, Capacity(threads=2, instances=2, pictures=3)),
        (4, Capacity(threads=4, instances=2, pictures=3)),
        (16, Capacity(threads=4, instances=8, pictures=9)),
    ],
)
def test_workers_grow_with_the_cores(cores: int, capacity: Capacity) -> None:
    assert fitting(cores) == capacity


def test_what_is_asked_for_is_kept() -> None:
    assert fitting(8, threads=3, pictures=6) == Capacity(threads=3, instances=4, pictures=6)


def test_no_more_inferences_than_pictures() -> None:
    assert fitting(8, pictures=1).instances == 1


def test_without_a_number_the_cores_of_this_process_count(monkeypatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3, 4, 5}, raising=False)
    assert fitting() == fitting(6)
