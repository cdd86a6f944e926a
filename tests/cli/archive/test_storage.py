"""Storage of an archive, and the listing of its pictures in partitions."""

from pathlib import Path

import pytest

from orchestrator.cli.archive.listing import ArchivePicture, Listing, Partition, cut, is_part
from orchestrator.cli.archive.storage import StorageFolder, check_packages
from orchestrator.errors import ExtraError, SettingsError

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
    return StorageFolder.parse(str(folder), {})


def test_pictures_are_listed_by_their_paths_with_their_sizes(tmp_path: Path) -> None:
    listing = Listing(fill(tmp_path, "b/2.JPG", "b/1.png", "a.webp", ".hidden/x.jpg", "b/n.txt"))
    assert [*listing.pictures()] == [
        ArchivePicture("a.webp", 6),
        ArchivePicture("b/1.png", 7),
        ArchivePicture("b/2.JPG", 7),
    ]
    assert dict(listing.skipped_files.kinds) == {".txt": 1}


def test_a_path_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        Listing(StorageFolder.parse(f"{tmp_path}/nowhere", {}))


def names(partitions: list[Partition]) -> set[str]:
    return {partition.name for partition in partitions}


def parts_of(
    pictures: list[ArchivePicture], pictures_per_partition: int = 20, question: str = ""
) -> list[Partition]:
    return [*cut(pictures, pictures_per_partition, question)]


def test_every_picture_is_in_one_partition_in_order_each_time() -> None:
    parts = parts_of(PICTURES)
    assert parts_of([]) == []
    assert parts == parts_of([*PICTURES])
    assert [picture for part in parts for picture in part.pictures] == PICTURES
    assert max(len(part.pictures) for part in parts) <= 40
    assert 30 <= len(parts) <= 100  # about 1000 / 20
    assert all(is_part(part.name) for part in parts)


def test_a_picture_more_changes_the_partition_it_falls_into_alone() -> None:
    more_pictures = sorted([*PICTURES, ArchivePicture("02/0100a.jpg", 5)])
    names_before, names_after = names(parts_of(PICTURES)), names(parts_of(more_pictures))
    assert len(names_after - names_before) <= 2  # two where the new name ends a partition
    assert names_after & names_before


@pytest.mark.parametrize(
    ("pictures", "question"),
    [
        pytest.param([ArchivePicture("a.jpg", 2)], "", id="size"),
        pytest.param([ArchivePicture("b.jpg", 1)], "", id="name"),
        pytest.param([ArchivePicture("a.jpg", 1)], "other weights", id="question"),
    ],
)
def test_parameters_that_change_an_answer_change_the_name(
    pictures: list[ArchivePicture], question: str
) -> None:
    assert names(parts_of(pictures, question=question)) != names(
        parts_of([ArchivePicture("a.jpg", 1)])
    )


def test_a_name_that_is_no_utf8_has_its_place() -> None:
    (part,) = parts_of([ArchivePicture("\udcff.jpg", 1)])
    assert is_part(part.name)


@pytest.mark.parametrize(
    ("name", "expected_name"), [("{}/photos/", "{}/photos"), ("photos", "photos")]
)
def test_a_folder_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected_name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    place = StorageFolder.parse(name.format(tmp_path), {})
    assert (place.name, place.path) == (expected_name.format(tmp_path), f"{tmp_path}/photos")
    assert place.inside("a/b.jpg") == f"{tmp_path}/photos/a/b.jpg"
    assert (place.is_on_disk, place.open().type_name) == (True, "local")


@pytest.mark.parametrize(
    ("environ", "endpoint", "region"),
    [
        pytest.param({}, "", "", id="AWS"),
        pytest.param({"AWS_REGION": "eu-north-1"}, "", "eu-north-1", id="AWS-in-a-region"),
        pytest.param(
            {"AWS_ENDPOINT_URL": "http://minio:9000/"}, "http://minio:9000", "us-east-1", id="own"
        ),
        pytest.param(
            {"AWS_ENDPOINT_URL": "http://x", "AWS_ENDPOINT_URL_S3": "http://s3:9"},
            "http://s3:9",
            "us-east-1",
            id="own-for-S3-alone",
        ),
    ],
)
def test_s3_is_found_as_the_tools_of_aws_find_it(
    environ: dict[str, str], endpoint: str, region: str
) -> None:
    place = StorageFolder.parse("s3://cameras/2026/", environ)
    assert place == StorageFolder("s3://cameras/2026", "s3", "cameras/2026", endpoint, region)


def test_gcs_is_a_storage_too() -> None:
    place = StorageFolder.parse(
        "gs://cameras/gate", {"STORAGE_EMULATOR_HOST": "http://localhost:1"}
    )
    assert place.open().type_name == "gcs"
    assert place.inside("a.jpg") == "cameras/gate/a.jpg"


@pytest.mark.parametrize("name", ["ftp://host/folder", "s3://", "https://example.org/car.jpg"])
def test_other_storage_is_an_error(name: str) -> None:
    with pytest.raises(SettingsError, match="wanted a folder, s3://bucket/folder or gs://"):
        StorageFolder.parse(name, {})


def test_without_ray_one_line_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.cli.archive.storage.find_spec", lambda name: None)
    message = r"archive: wanted the package ray, got none; pip install -e '\.\[archive\]' in the"
    with pytest.raises(ExtraError, match=message):
        check_packages()
