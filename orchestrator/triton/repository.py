"""The model repository: which models it holds and when their exported files are stale."""

from __future__ import annotations

import logging
from pathlib import Path

from orchestrator.contract import COMPONENTS, MODEL
from orchestrator.errors import SettingsError
from orchestrator.networks import weights as weight_files
from orchestrator.networks.weights import WEIGHTS

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
_SOURCES = Path(__file__).resolve().parents[1] / "networks"

logger = logging.getLogger(__name__)


def check(repository: Path) -> None:
    """See that a folder is a repository of our models.

    Raises:
        SettingsError: A model has no config.pbtxt there.
    """
    for name in (MODEL, *COMPONENTS):
        config = repository / name / "config.pbtxt"
        if not config.is_file():
            raise SettingsError(f"model repository: wanted {config}, got no such file")


def export(
    repository: Path = REPOSITORY, weights: Path = WEIGHTS, *, force: bool = False
) -> list[Path]:
    """Write the model.pt of each network that is missing or older than its weights or its code.

    Returns:
        The files written.

    Raises:
        SettingsError: The folder is no repository of our models.
        WeightsError: A weight file is missing or not the listed one.
    """
    check(repository)
    for file in weight_files.FILES.values():
        weight_files.check(weights / file)
    stale = [name for name in COMPONENTS if force or _is_stale(repository, weights, name)]
    if stale:
        from orchestrator.networks import export

        for name in stale:
            logger.info("exporting %s", name)
            export.export(name, model_file(repository, name), weights)
    return [model_file(repository, name) for name in stale]


def model_file(repository: Path, name: str) -> Path:
    """Return where a network's TorchScript file belongs."""
    return repository / name / "1" / "model.pt"


def _is_stale(repository: Path, weights: Path, name: str) -> bool:
    exported = model_file(repository, name)
    sources = (weights / weight_files.FILES[name], _SOURCES / f"{name}.py", _SOURCES / "export.py")
    return not exported.is_file() or any(
        source.stat().st_mtime > exported.stat().st_mtime for source in sources
    )
