"""The models of `plates serve --one-model`: `plate_recognition` and `plate_reader`, with networks.

Each runs its networks in its own workers. So Triton loads no other model of ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.contract import DECODE, INPUT, PLATE_READER
from orchestrator.errors import SettingsError
from orchestrator.host.heartbeat import PARAMETER as HANG
from orchestrator.networks.own_files import OwnFile
from orchestrator.serving.supervisor.models.export_cache import ModelSource, files_of, find_export
from orchestrator.serving.supervisor.models.model_repository import CONFIG, read_config
from orchestrator.serving.supervisor.models.plate_models import ONE_MODEL
from orchestrator.serving.supervisor.options import ServerOptions


def check_one_model(options: ServerOptions) -> None:
    """Check that nothing hinders the networks from running in one model, if that is asked for.

    Raises:
        SettingsError: The networks run on a GPU, or have a number of instances of their own, or the
            repository is served as it lies.
    """
    if not options.one_model:
        return
    if not options.is_made_here:
        raise SettingsError(
            f"{options.repository} is served as it lies, in the composition that it was written "
            "for: leave --one-model out, or give it to plates export"
        )
    if options.capacity().on_gpu:
        raise SettingsError(
            "wanted --one-model on a CPU, got a GPU: there each worker would load the networks "
            "into the GPU's memory, and calls would share no batches. Leave --one-model out, or "
            "say --device cpu"
        )
    if options.instances:
        raise SettingsError(
            "wanted --one-model or --instances, got both: in one model each picture at once has "
            "networks of its own. --pictures sets how many"
        )


def configure_reader(config: Any, decode: Any) -> None:
    """Turn the configuration of the ensemble `plate_reader` into that of a Python model.

    Args:
        config: The ensemble's `ModelConfig`, which is changed.
        decode: The `ModelConfig` of its last step, whose code the model has.
    """
    config.ClearField("ensemble_scheduling")
    config.platform, config.backend = "", decode.backend
    config.instance_group.extend(decode.instance_group)
    for name, value in decode.parameters.items():
        config.parameters[name].CopyFrom(value)


def find_code(source: ModelSource, name: str) -> Path:
    """Return the model.py of a model in this composition."""
    return source.repository / (DECODE if name == PLATE_READER else name) / "1" / "model.py"


def find_networks(source: ModelSource, name: str, spare: Path | None) -> dict[str, Path]:
    """Return the files of the networks that a model runs, by their names beside its code."""
    return {
        f"{network}{file.suffix}": file
        for network in ONE_MODEL[name]
        for file in files_of(find_export(source, network, spare))
    }


def list_networks(source: ModelSource, name: str) -> dict[str, OwnFile]:
    """Return the list of the networks that a model runs, with what their config.pbtxt say."""
    return {network: _describe(source, network) for network in ONE_MODEL[name]}


def _describe(source: ModelSource, network: str) -> OwnFile:
    config = read_config(source.repository / network / CONFIG)
    hang_s = config.parameters[HANG].string_value if HANG in config.parameters else "0"
    shapes = [(warm.batch_size, *warm.inputs[INPUT].dims) for warm in config.model_warmup]
    suffix = source.exported_file(network).suffix
    return OwnFile(f"{network}{suffix}", float(hang_s), tuple(shapes))
