"""Model repositories of any project: their models, and the number of their workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import SettingsError

CONFIG = "config.pbtxt"


def list_models(repository: Path) -> tuple[str, ...]:
    """Return the names of a repository's models, which are its folders with a config.pbtxt.

    Raises:
        SettingsError: There are none.
    """
    names = tuple(sorted(path.parent.name for path in repository.glob(f"*/{CONFIG}")))
    if not names:
        raise SettingsError(
            f"model repository: wanted folders of models, each with a {CONFIG}, got none in "
            f"{repository}"
        )
    return names


def check_distinct(repositories: Sequence[Path]) -> None:
    """Check that no two models have the same name; Triton would load neither.

    Raises:
        SettingsError: Two have, or a repository has no models.
    """
    names = Counter(name for folder in repositories for name in list_models(folder))
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        raise SettingsError(
            f"model repository: wanted another name for each model, got {twice[0]} in two of "
            f"{', '.join(map(str, repositories))}"
        )


def read_config(path: Path) -> Any:
    """Return a config.pbtxt as Triton's own `ModelConfig` message.

    Raises:
        SettingsError: The file cannot be read, or is no such message.
    """
    from google.protobuf import text_format
    from tritonclient.grpc.model_config_pb2 import ModelConfig

    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from error
    except text_format.ParseError as error:
        raise SettingsError(f"{path}: wanted a Triton model configuration, got {error}") from error


def count_workers(repository: Path) -> int:
    """Return how many worker processes the models take on a CPU; an ensemble takes none."""
    configs = (read_config(repository / name / CONFIG) for name in list_models(repository))
    return sum(_count_instances(config) for config in configs if config.platform != "ensemble")


def _count_instances(config: Any) -> int:
    return sum(group.count or 1 for group in config.instance_group) or 1
