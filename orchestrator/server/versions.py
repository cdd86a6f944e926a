"""New versions of a network beside the old ones, in a repository that a server is reading."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA, read_formats
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS
from orchestrator.server.models import CONFIG
from orchestrator.server.repository import check_models, served_file


def add_version(
    repository: Path, name: str, weights: Path, engine: Engine, formats: Path = RUSSIA
) -> Path:
    """Export a network from other weights as the next version of its model.

    The folder appears whole: a server that looks at this moment sees all of it or nothing.

    Args:
        repository: A repository that `plates export --out` wrote.
        name: `yolo`, `stn` or `lprnet`.
        weights: Folder with the network's weights and their SHA256SUMS.
        engine: Not `auto`; one of the model's backend.
        formats: File of the plates that the weights were trained for.

    Returns:
        The version's folder.

    Raises:
        SettingsError: No such model, a model for another backend, or a folder that cannot be
            written.
        WeightsError: The weight file is missing or not the listed one.
    """
    check_models(repository)
    _check_fits(repository, name, engine)
    from orchestrator.networks import export  # PyTorch takes seconds to import

    folder = repository / name / str(max(versions(repository, name), default=0) + 1)
    part = folder.with_name(f"{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        export.write_network(
            name, part / served_file(engine), weights, engine, read_formats(formats)
        )
        part.rename(folder)
    except OSError as error:
        raise SettingsError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def versions(repository: Path, name: str) -> list[int]:
    """Return a model's versions, oldest first."""
    folders = (repository / name).iterdir()
    return sorted(int(folder.name) for folder in folders if folder.name.isdecimal())


def _check_fits(repository: Path, name: str, engine: Engine) -> None:
    if name not in NETWORKS:
        raise SettingsError(f"network: wanted one of {', '.join(NETWORKS)}, got {name}")
    backend = _backend_of(repository / name / CONFIG)
    if backend != engine.backend:
        raise SettingsError(
            f"{repository / name}: wanted an engine of the backend {backend}, got {engine.value}"
        )


def _backend_of(config: Path) -> str:
    found = re.search(r'^\s*backend\s*:\s*"(\w+)"', config.read_text(encoding="utf-8"), re.M)
    if not found:
        raise SettingsError(f"{config}: wanted a backend, got none")
    return found[1]
