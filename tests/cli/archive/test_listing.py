from pathlib import Path

import pytest

from orchestrator.cli.archive.listing import ArchivePicture, Listing, Partition, cut, is_part
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.errors import SettingsError

pytest.importorskip("pyarrow.fs", exc_type=ImportError)
PICTURES = [
    ArchivePicture(f"{day:02}/{number:04}.jpg", 1000 + number)
    for day in range(5)
    for number in range(200)
]


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


def names(partitions: list[Partition]) -> set[str]:
    return {partition.name for partition in partitions}


def parts_of(pictures: list[ArchivePicture], usual: int = 20, asked: str = "") -> list[Partition]:
    return [*cut(pictures, usual, asked)]


def test_an_empty_archive_has_no_partitions() -> None:
    assert parts_of([]) == []


def test_every_picture_is_in_one_partition_in_order() -> None:
    parts = parts_of(PICTURES)
    assert [picture for one in parts for picture in one.pictures] == PICTURES
    assert max(len(one.pictures) for one in parts) <= 40
    assert 30 <= len(parts) <= 100  # about 1000 / 20
    assert all(is_part(one.name) for one in parts)


def test_the_same_listing_is_cut_the_same() -> None:
    assert parts_of(PICTURES) == parts_of([*PICTURES])


def test_a_picture_more_changes_the_partition_it_falls_into_alone() -> None:
    more = sorted([*PICTURES, ArchivePicture("02/0100a.jpg", 5)])
    before, after = names(parts_of(PICTURES)), names(parts_of(more))
    assert len(after - before) <= 2  # two where the new name ends a partition
    assert after & before


@pytest.mark.parametrize(
    ("pictures", "asked"),
    [
        pytest.param([ArchivePicture("a.jpg", 2)], "", id="size"),
        pytest.param([ArchivePicture("b.jpg", 1)], "", id="name"),
        pytest.param([ArchivePicture("a.jpg", 1)], "other weights", id="question"),
    ],
)
def test_parameters_that_change_an_answer_change_the_name(
    pictures: list[ArchivePicture], asked: str
) -> None:
    assert names(parts_of(pictures, asked=asked)) != names(parts_of([ArchivePicture("a.jpg", 1)]))


def test_a_name_that_is_no_utf8_has_its_place() -> None:
    (only,) = parts_of([ArchivePicture("\udcff.jpg", 1)])
    assert is_part(only.name)
