"""A model repository to write from, and quick networks."""

import pytest

from orchestrator.serving.supervisor.models.export_cache import ModelSource
from tests.samples import copy_of


@pytest.fixture
def source(tmp_path) -> ModelSource:
    return ModelSource(copy_of("model_repository", tmp_path))


@pytest.fixture
def quick(monkeypatch) -> None:
    """Files of a few bytes in place of the networks."""

    def write(name, path, weights, engine, formats) -> None:
        for file in {path, path.with_suffix(".bin")}:
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text(name)

    monkeypatch.setattr("orchestrator.networks.export.write_network", write)
