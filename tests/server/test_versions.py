import pytest

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS
from orchestrator.server.versions import add_version, versions
from tests.samples import copy_of


@pytest.fixture
def repository(tmp_path):
    folder = copy_of("model_repository", tmp_path)
    for name in NETWORKS:
        (folder / name / "1").mkdir(exist_ok=True)
    return folder


def test_the_next_version_lies_beside_the_others(repository) -> None:
    folder = add_version(repository, "stn", WEIGHTS, Engine.TORCHSCRIPT)
    assert folder == repository / "stn" / "2"
    assert [path.name for path in folder.iterdir()] == ["model.pt"]
    assert versions(repository, "stn") == [1, 2]
    assert add_version(repository, "stn", WEIGHTS, Engine.TORCHSCRIPT).name == "3"


def test_a_version_that_fails_leaves_nothing(repository, tmp_path) -> None:
    with pytest.raises(WeightsError, match=r"no such file: .*stn\.pth"):
        add_version(repository, "stn", tmp_path / "nowhere", Engine.TORCHSCRIPT)
    assert [path.name for path in (repository / "stn").iterdir() if path.is_dir()] == ["1"]


@pytest.mark.parametrize(
    ("name", "engine", "message"),
    [
        pytest.param("vgg", Engine.TORCHSCRIPT, "wanted one of yolo, stn, lprnet, got vgg"),
        pytest.param("stn", Engine.OPENVINO, "wanted an engine of the backend pytorch"),
    ],
)
def test_what_cannot_be_served_is_refused(repository, name: str, engine: Engine, message) -> None:
    with pytest.raises(SettingsError, match=message):
        add_version(repository, name, WEIGHTS, engine)
