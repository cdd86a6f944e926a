from pathlib import Path

import pytest

from orchestrator.cli.archive.listing import ArchivePicture, Listing
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.errors import SettingsError

pytest.importorskip("pyarrow.fs", exc_type=ImportError)


def fill(folder: Path, *names: str) -> StorageFolder:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return StorageFolder.named(str(folder), {})


def test_an_empty_folder_has_no_pictures(tmp_path: Path) -> None:
    assert [*Listing(StorageFolder.named(str(tmp_path), {})).pictures()] == []


def test_pictures_are_listed_by_their_paths_with_their_sizes(tmp_path: Path) -> None:
    listing = Listing(fill(tmp_path, "b/2.JPG", "b/1.png", "a.webp", ".hidden/x.jpg", "b/n.txt"))
    assert [*listing.pictures()] == [
        ArchivePicture("a.webp", 6),
        ArchivePicture("b/1.png", 7),
        ArchivePicture("b/2.JPG", 7),
    ]
    assert dict(listing.skipped.kinds) == {".txt": 1}


def test_a_path_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        Listing(StorageFolder.named(f"{tmp_path}/nowhere", {}))
