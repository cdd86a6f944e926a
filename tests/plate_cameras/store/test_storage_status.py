from pathlib import Path

from plate_cameras.configuration import Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.store_parts import measure_disks


def test_a_store_tells_that_its_database_answers(tmp_path: Path) -> None:
    store = open_store(Store(), tmp_path)
    store.replay_spool()
    status = store.storage()
    assert status.is_database_up
    assert status.spool_limit_bytes == 2**30
    assert [*status.disks] == ["spool", "pictures"]
    store.close()


def test_a_database_that_is_away_shows_without_any_pass(tmp_path: Path) -> None:
    store = open_store(Store(), tmp_path)
    store.close()
    for file in tmp_path.glob("passes.db*"):
        file.unlink()
    (tmp_path / "passes.db").mkdir()
    store.replay_spool()
    assert not store.storage().is_database_up
    store.close()


def test_the_disk_of_a_folder_that_is_not_made_yet_is_that_above_it(tmp_path: Path) -> None:
    [disk] = measure_disks({"spool": tmp_path / "a" / "b"}).values()
    assert 0 < disk.free_bytes <= disk.size_bytes
