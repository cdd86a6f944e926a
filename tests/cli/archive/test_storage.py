from pathlib import Path

import pytest

from orchestrator.cli.archive.storage import StorageFolder, check_packages
from orchestrator.errors import ExtraError, SettingsError

pytest.importorskip("pyarrow.fs", exc_type=ImportError)


def test_a_folder_is_on_the_disk(tmp_path: Path) -> None:
    place = StorageFolder.named(f"{tmp_path}/photos/", {})
    assert (place.name, place.path, place.is_on_disk) == (
        f"{tmp_path}/photos",
        f"{tmp_path}/photos",
        True,
    )
    assert place.inside("a/b.jpg") == f"{tmp_path}/photos/a/b.jpg"
    assert place.open().type_name == "local"


def test_a_relative_folder_keeps_its_name_and_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = StorageFolder.named("photos", {})
    assert (place.name, place.path) == ("photos", f"{tmp_path}/photos")


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
    place = StorageFolder.named("s3://cameras/2026/", environ)
    assert place == StorageFolder("s3://cameras/2026", "s3", "cameras/2026", endpoint, region)


def test_gcs_is_a_storage_too() -> None:
    place = StorageFolder.named(
        "gs://cameras/gate", {"STORAGE_EMULATOR_HOST": "http://localhost:1"}
    )
    assert place.open().type_name == "gcs"
    assert place.inside("a.jpg") == "cameras/gate/a.jpg"


@pytest.mark.parametrize("name", ["ftp://host/folder", "s3://", "https://example.org/car.jpg"])
def test_other_storage_is_an_error(name: str) -> None:
    with pytest.raises(SettingsError, match="wanted a folder, s3://bucket/folder or gs://"):
        StorageFolder.named(name, {})


def test_without_ray_one_line_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.cli.archive.storage.find_spec", lambda name: None)
    wanted = r"archive: wanted the package ray, got none; pip install -e '\.\[archive\]' in the"
    with pytest.raises(ExtraError, match=wanted):
        check_packages()
