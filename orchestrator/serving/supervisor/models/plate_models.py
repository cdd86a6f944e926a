"""The repository of our models, and the number of their workers."""

from __future__ import annotations

from pathlib import Path

from orchestrator.contract import DECODE, FORMATS_FILE, MODEL, PLATE_READER
from orchestrator.errors import SettingsError
from orchestrator.networks.registry import EXPORTED, NETWORKS, STEPS
from orchestrator.serving.supervisor.capacity import Capacity
from orchestrator.serving.supervisor.models.model_repository import CONFIG

REPOSITORY = Path(__file__).resolve().parents[4] / "model_repository"
MODELS = (MODEL, *NETWORKS, *STEPS, DECODE, PLATE_READER)
WORKERS = (MODEL, DECODE)  # Python models


def holds_plates(repository: Path) -> bool:
    """Tell whether a repository has our models; any other is served without changes."""
    return repository == REPOSITORY or (repository / MODEL).is_dir()


def is_laid_out(repository: Path) -> bool:
    """Tell whether `plates export --out` wrote a repository of our models, with all networks."""
    return repository != REPOSITORY and (repository / MODEL / "1" / FORMATS_FILE).is_file()


def check_models(repository: Path) -> None:
    """Check that a folder is a repository of our models.

    Raises:
        SettingsError: A model has no config.pbtxt there.
    """
    for name in MODELS:
        config = repository / name / CONFIG
        if not config.is_file():
            raise SettingsError(f"model repository: no such file: {config}")


def count_ours(capacity: Capacity) -> int:
    """Return how many worker processes our models take on a CPU; the ensemble takes none."""
    return sum(count_instances(name, capacity) for name in (*WORKERS, *EXPORTED))


def count_instances(name: str, capacity: Capacity) -> int:
    """Return how many worker processes one of our models takes on a CPU."""
    if name == MODEL:
        return capacity.pictures
    is_heavy = name in NETWORKS and not NETWORKS[name].is_quick
    return capacity.instances if is_heavy else 1
