"""The cores that a process may keep busy, on a machine or in a container."""

import pytest

from orchestrator.host.cores import usable_cores


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
