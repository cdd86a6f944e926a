"""How many workers and threads fit a machine."""

import pytest

from orchestrator.serving.supervisor.capacity import Capacity, fitting, fitting_gpu


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
    assert fitting(2, instances=4, pictures=3) == Capacity(threads=2, instances=4, pictures=3)
    assert fitting(2, instances=4) == Capacity(threads=2, instances=4, pictures=5)


def test_a_gpu_gets_more_pictures_than_there_are_cores() -> None:
    fits = fitting_gpu(16)
    assert (fits.pictures, fits.instances, fits.threads) == (24, 2, 16)
    assert [fitting_gpu(cores).pictures for cores in (1, 8, 256)] == [4, 12, 64]
    assert fitting_gpu(16, pictures_on_gpu=True).pictures == 4


def test_no_more_inferences_than_pictures() -> None:
    assert fitting(8, pictures=1).instances == 1
