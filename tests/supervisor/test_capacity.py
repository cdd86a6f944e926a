"""How many workers and threads fit a machine."""

import pytest

from orchestrator.supervisor.capacity import Capacity, fitting, usable_cores


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


@pytest.fixture
def six_cores(monkeypatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3, 4, 5}, raising=False)


def test_without_a_number_the_cores_of_this_process_count(six_cores, tmp_path) -> None:
    assert usable_cores(tmp_path) == 6


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        pytest.param("max 100000", 6, id="none"),
        pytest.param("200000 100000", 2, id="two"),
        pytest.param("250000 100000", 3, id="two-and-a-half"),
        pytest.param("20000 100000", 1, id="a-fifth"),
        pytest.param("1600000 100000", 6, id="more-than-there-are"),
        pytest.param("nonsense", 6, id="unreadable"),
    ],
)
def test_a_container_s_quota_counts(six_cores, tmp_path, quota: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(("quota_us", "cores"), [("-1", 6), ("150000", 2)])
def test_a_quota_of_version_1_counts(six_cores, tmp_path, quota_us: str, cores: int) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota_us)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert usable_cores(tmp_path) == cores
