"""Adds a new version of a network to a repository that a server is reading."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from orchestrator.contract import FORMATS_FILE, MODEL, READER
from orchestrator.errors import SettingsError, WeightsError
from orchestrator.formats.plate_formats import read_formats
from orchestrator.host.disk_files import sync
from orchestrator.host.locked_folders import lock_folder
from orchestrator.networks.engines import Engine, choose
from orchestrator.networks.registry import NETWORKS, choose_engine
from orchestrator.networks.weights import choose_formats
from orchestrator.serving.supervisor.models.model_repository import CONFIG, read_config
from orchestrator.serving.supervisor.models.plate_models import check_models, models_of

PART = "part"
"""Folder of a version that is not complete yet. Triton takes `2.part` for version 2."""


@dataclass(frozen=True)
class NewVersion:
    """A version of a network to add.

    Attributes:
        name: `yolo`, `stn` or `lprnet`.
        weights: Folder with the network's weights and their SHA256SUMS.
        engine: An engine of the backend that the repository was written for; `auto` chooses the one
            of that backend that fits this machine.
    """

    name: str
    weights: Path
    engine: Engine = Engine.AUTO


def add_version(repository: Path, new: NewVersion) -> Path:
    """Export a network from other weights as the next version of its model.

    The folder appears at once: a server that looks at this moment sees all of it or nothing.
    Another command that writes the repository comes before or after.

    Args:
        repository: A repository that `plates export --out` wrote.
        new: The network and its weights.

    Returns:
        The version's folder.

    Raises:
        SettingsError: The model is missing, is for another backend, or its folder cannot be
            written.
        WeightsError: The weight file is missing, is not the listed one, or reads another alphabet
            than the repository's texts.
    """
    check_models(repository)
    with lock_folder(repository):
        return _add(repository, new)


def _add(repository: Path, new: NewVersion) -> Path:
    if new.name not in models_of(repository) and new.name in NETWORKS:
        raise SettingsError(
            f"{repository}: wanted models of the networks to add a version to, got --one-model; "
            "write it again with plates export --out"
        )
    engine = _choose_engine(repository, new)
    if new.name == READER:
        _check_alphabet(repository, new.weights)
    from orchestrator.networks import export  # PyTorch takes seconds to import

    part = repository / new.name / PART
    file = part / ("model.xml" if engine.is_openvino else "model.pt")
    formats = read_formats(choose_formats(new.weights))
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        export.write_network(new.name, file, new.weights, engine, formats)
        for path in part.iterdir():
            sync(path)
        number = max(list_versions(repository, new.name), default=0) + 1
        return part.rename(part.with_name(str(number)))
    except OSError as error:
        raise SettingsError(f"{part.parent}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def list_versions(repository: Path, name: str) -> list[int]:
    """Return a model's versions, oldest first."""
    folders = (repository / name).iterdir()
    return sorted(int(folder.name) for folder in folders if folder.name.isdecimal())


def _choose_engine(repository: Path, new: NewVersion) -> Engine:
    """Return an engine of the backend that serves the model."""
    if new.name not in NETWORKS:
        raise SettingsError(f"network: wanted one of {', '.join(NETWORKS)}, got {new.name}")
    backend = read_config(repository / new.name / CONFIG).backend
    engine = new.engine
    if engine is Engine.AUTO:
        engine = choose(engine, on_gpu=backend == Engine.TORCHSCRIPT.backend)
    engine = choose_engine(new.name, new.weights, engine)
    if engine.backend != backend:
        raise SettingsError(
            f"{repository / new.name}: wanted an engine of the backend {backend or 'none'}, got "
            f"{engine.value}"
        )
    return engine


def _check_alphabet(repository: Path, weights: Path) -> None:
    file = repository / MODEL / "1" / FORMATS_FILE
    alphabet = read_formats(file).alphabet
    new_alphabet = read_formats(choose_formats(weights)).alphabet
    if new_alphabet != alphabet:
        raise WeightsError(
            f"{weights}: wanted a reader of the alphabet that {repository} writes, {alphabet}, got "
            f"{new_alphabet}; another country is another service"
        )
