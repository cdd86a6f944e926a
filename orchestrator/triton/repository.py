"""The model repository: which models it holds, and whether their exported files are up to date."""

from __future__ import annotations

import hashlib
import logging
from importlib import metadata
from pathlib import Path

from orchestrator.contract import COMPONENTS, MODEL
from orchestrator.errors import SettingsError
from orchestrator.networks.weights import FILES, WEIGHTS, check_listed

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
_CODE = Path(__file__).resolve().parents[1] / "networks"

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
    """Write the model.pt of each network that is missing or comes from other weights or code.

    Returns:
        The files written.

    Raises:
        SettingsError: The folder is no repository of our models, or cannot be written.
        WeightsError: A weight file is missing or not the listed one.
    """
    check(repository)
    wanted = {name: fingerprint(name, weights) for name in COMPONENTS}
    stale = [name for name in COMPONENTS if force or _stamp(repository, name) != wanted[name]]
    if not stale:
        return []
    from orchestrator.networks import export  # PyTorch takes seconds to import

    for name in stale:
        logger.info("exporting %s", name)
        try:
            export.export(name, model_file(repository, name), weights)
            _stamp_file(repository, name).write_text(wanted[name])
        except OSError as error:
            where = model_file(repository, name)
            raise SettingsError(f"{where}: wanted to write here, got {error.strerror}") from error
    return [model_file(repository, name) for name in stale]


def model_file(repository: Path, name: str) -> Path:
    """Return where a network's TorchScript file belongs."""
    return repository / name / "1" / "model.pt"


def fingerprint(name: str, weights: Path) -> str:
    """Return what an exported file depends on, as one SHA-256: weights, code, PyTorch.

    Raises:
        WeightsError: The weight file is missing or not the listed one.
    """
    parts = [check_listed(weights / FILES[name]), metadata.version("torch")]
    parts += [(_CODE / file).read_text() for file in (f"{name}.py", "export.py")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _stamp(repository: Path, name: str) -> str:
    """Return the fingerprint that the exported file was made with, `""` without a file."""
    stamp = _stamp_file(repository, name)
    exists = stamp.is_file() and model_file(repository, name).is_file()
    return stamp.read_text() if exists else ""


def _stamp_file(repository: Path, name: str) -> Path:
    return model_file(repository, name).with_suffix(".sha256")
