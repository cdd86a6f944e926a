"""The repository of our models, and the number of their workers."""

from __future__ import annotations

from pathlib import Path

from orchestrator.contract import (
    COUNTRY_OUTPUTS,
    DECODE,
    FORMATS_FILE,
    MODEL,
    PLATE_READER,
    READER,
    RECTIFIER,
)
from orchestrator.errors import SettingsError
from orchestrator.networks.own_files import read_list
from orchestrator.networks.registry import EXPORTED, NETWORKS, STEPS
from orchestrator.serving.supervisor.capacity import Capacity
from orchestrator.serving.supervisor.models.model_repository import CONFIG, read_config

REPOSITORY = Path(__file__).resolve().parents[4] / "model_repository"
MODELS = (MODEL, *NETWORKS, *STEPS, DECODE, PLATE_READER)
WORKERS = (MODEL, DECODE)  # Python models
ONE_MODEL = {MODEL: (*NETWORKS,), PLATE_READER: (RECTIFIER, READER)}
"""The models of `plates serve --one-model`, each with the networks that it runs itself."""

OWN_WEIGHT = 3
"""Memory of a worker that runs all networks, as a multiple of a usual worker's memory. Under load,
with pictures of several sizes, 260 MB were measured."""


def models_of(repository: Path) -> tuple[str, ...]:
    """Return the names of our models in a repository of them, in either composition."""
    return (*ONE_MODEL,) if read_list(repository / MODEL / "1") else MODELS


def holds_plates(repository: Path) -> bool:
    """Tell whether a repository has our models; any other is served without changes."""
    return repository == REPOSITORY or (repository / MODEL).is_dir()


def tells_countries(repository: Path) -> bool:
    """Tell whether `plate_recognition` of a repository has the outputs about countries.

    Raises:
        SettingsError: Its config.pbtxt cannot be read.
    """
    outputs = read_config(repository / MODEL / CONFIG).output
    return {*COUNTRY_OUTPUTS} <= {output.name for output in outputs}


def is_laid_out(repository: Path) -> bool:
    """Tell whether `plates export --out` wrote a repository of our models, with all networks."""
    return repository != REPOSITORY and (repository / MODEL / "1" / FORMATS_FILE).is_file()


def check_models(repository: Path) -> None:
    """Check that a folder is a repository of our models.

    Raises:
        SettingsError: A model has no config.pbtxt there.
    """
    for name in models_of(repository):
        config = repository / name / CONFIG
        if not config.is_file():
            raise SettingsError(f"model repository: no such file: {config}")


def count_ours(capacity: Capacity) -> int:
    """Return how many worker processes our models take on a CPU; the ensemble takes none."""
    models = ONE_MODEL if capacity.is_one_model else (*WORKERS, *EXPORTED)
    return sum(count_instances(name, capacity) for name in models)


def weigh_ours(capacity: Capacity) -> int:
    """Return how many usual workers take as much memory as our models."""
    heavier = capacity.pictures * (OWN_WEIGHT - 1) if capacity.is_one_model else 0
    return count_ours(capacity) + heavier


def count_instances(name: str, capacity: Capacity) -> int:
    """Return how many worker processes one of our models takes on a CPU."""
    if name == MODEL:
        return capacity.pictures
    is_heavy = name in NETWORKS and not NETWORKS[name].is_quick
    return capacity.instances if is_heavy else 1
