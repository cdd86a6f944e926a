"""A new version of a network beside those that a server reads."""

import pytest

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, list_sums
from orchestrator.serving.supervisor.models.new_version import (
    NewVersion,
    add_version,
    list_versions,
)
from tests.samples import copy_of


@pytest.fixture
def quick(monkeypatch) -> None:
    """A file of a few bytes in place of a network."""
    monkeypatch.setattr(
        "orchestrator.networks.export.write_network",
        lambda _name, file, _weights, engine, _formats: file.write_text(engine.value),
    )


@pytest.fixture
def repository(tmp_path):
    folder = copy_of("model_repository", tmp_path)
    for name in NETWORKS:
        (folder / name / "1").mkdir(exist_ok=True)
    return folder


@pytest.mark.usefixtures("quick")
def test_the_next_version_lies_beside_the_others(repository) -> None:
    folder = add_version(repository, NewVersion("stn", WEIGHTS))
    assert folder == repository / "stn" / "2"
    assert [path.name for path in folder.iterdir()] == ["model.pt"]
    assert list_versions(repository, "stn") == [1, 2]
    assert add_version(repository, NewVersion("stn", WEIGHTS)).name == "3"


def test_a_version_that_fails_leaves_nothing(repository, tmp_path) -> None:
    other = copy_of("weights", tmp_path)
    (other / "stn.pth").unlink()
    with pytest.raises(WeightsError, match=r"no such file: .*stn\.pth"):
        add_version(repository, NewVersion("stn", other))
    assert [path.name for path in (repository / "stn").iterdir() if path.is_dir()] == ["1"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("backend", "file"), [("pytorch", "model.pt"), ("openvino", "model.xml")])
def test_the_engine_is_one_of_the_backend_that_is_there(repository, backend: str, file) -> None:
    config = repository / "stn" / "config.pbtxt"
    config.write_text(config.read_text().replace('backend: "pytorch"', f'backend: "{backend}"'))
    assert (add_version(repository, NewVersion("stn", WEIGHTS)) / file).is_file()


@pytest.mark.usefixtures("quick")
def test_a_reader_of_another_alphabet_is_refused_and_its_rectifier_is_not(
    repository, tmp_path
) -> None:
    other, formats = copy_of("weights", tmp_path), WEIGHTS / "formats.toml"
    (repository / "plate_recognition" / "1" / "formats.toml").write_bytes(formats.read_bytes())
    swapped = formats.read_text().replace("0123456789", "1023456789", 1)
    (other / "formats.toml").write_text(swapped)
    list_sums(other)
    with pytest.raises(WeightsError, match=r"wanted a reader of the alphabet .* 01234.*, got 1023"):
        add_version(repository, NewVersion("lprnet", other))
    assert list_versions(repository, "lprnet") == [1]
    assert add_version(repository, NewVersion("stn", other)).name == "2"


@pytest.mark.parametrize(
    ("name", "engine", "message"),
    [
        pytest.param("vgg", Engine.TORCHSCRIPT, "wanted one of yolo, stn, lprnet, got vgg"),
        pytest.param("stn", Engine.OPENVINO, "wanted an engine of the backend pytorch"),
    ],
)
def test_what_cannot_be_served_is_refused(repository, name: str, engine: Engine, message) -> None:
    with pytest.raises(SettingsError, match=message):
        add_version(repository, NewVersion(name, WEIGHTS, engine))
