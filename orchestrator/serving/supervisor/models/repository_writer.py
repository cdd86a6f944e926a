"""Writes the model repository of a server: configurations, exported files and plate formats."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.contract import (
    COUNTRY_OUTPUTS,
    DECODE,
    DETECTOR,
    FORMATS_FILE,
    INPUT,
    MODEL,
    PLATE_READER,
    READER,
)
from orchestrator.detection.tiles import MAX_TILES, TILE_WH
from orchestrator.errors import SettingsError
from orchestrator.host.canary import CANARY_FILES, has_canary
from orchestrator.host.heartbeat import PARAMETER as HANG
from orchestrator.host.locked_folders import lock_folder
from orchestrator.host.subprocesses import defer_stops
from orchestrator.networks.engines import Engine
from orchestrator.networks.own_files import write_list
from orchestrator.networks.registry import EXPORTED, NETWORKS, STEPS
from orchestrator.serving.supervisor.capacity import Capacity, fitting_gpu
from orchestrator.serving.supervisor.models import one_model
from orchestrator.serving.supervisor.models.export_cache import ModelSource, files_of, find_export
from orchestrator.serving.supervisor.models.model_repository import CONFIG, read_config
from orchestrator.serving.supervisor.models.plate_models import (
    MODELS,
    ONE_MODEL,
    WORKERS,
    check_models,
    count_instances,
    holds_plates,
    is_laid_out,
)
from orchestrator.serving.supervisor.options import ServerOptions

GPU = fitting_gpu()
HANG_ON_A_GPU = "30"
"""Limit in seconds: on a GPU, a network's code is compiled with the first pictures of a shape."""
SETTINGS_OF_READINGS = ("text_threshold", "temperature")
"""Settings that `plate_reader` has in common with `plate_recognition`."""

PART = ".part"
"""Folder in a repository for models that are not complete yet."""

RepositoryWriter = Callable[[ServerOptions, Path], Path]
"""A function that writes the model repository of a server into a folder, and returns it."""


def choose_writer(options: ServerOptions) -> RepositoryWriter:
    """Return the function that gives a server the repository of its options."""
    return lay_out_ours if options.is_made_here else leave_as_it_lies


def lay_out_ours(options: ServerOptions, target: Path) -> Path:
    """Write our models for the options' engine, the machine's cores and the country's plates."""
    return lay_out(options.source(), target, options.capacity())


def leave_as_it_lies(options: ServerOptions, _target: Path) -> Path:
    """Leave the repository in its place: its owner adds versions while it is served."""
    if holds_plates(options.repository):
        check_models(options.repository)
    return options.repository


def lay_out(
    source: ModelSource,
    target: Path,
    capacity: Capacity = GPU,
    *,
    spare: Path | None = None,
) -> Path:
    """Write a repository for one engine; Triton's own backends of these names accept it, too.

    Models that are there already stay until all new ones are written. Each is then replaced at
    once, so that a server that reads one at this moment never finds half of it.

    Args:
        source: The inputs; their networks are exported.
        target: The folder to write. It must be new, empty, or written by this function before,
            without added versions.
        capacity: The number of instances of each model. With the configuration of a GPU, the
            server does not start without a GPU.
        spare: Folder for exported networks that are not in the repository.

    Returns:
        The target.

    Raises:
        SettingsError: The source is no repository of our models, or a network is not exported. The
            formats cannot be read. The target has other files in it, or cannot be written.
        WeightsError: The weights cannot be used.
    """
    check_models(source.repository)
    part = target / PART
    try:
        with suppress(FileExistsError):
            target.mkdir(parents=True)
        with lock_folder(target), ExitStack() as stack:
            _check_target(source, target)
            stack.callback(shutil.rmtree, part, ignore_errors=True)
            shutil.rmtree(part, ignore_errors=True)
            for name in ONE_MODEL if capacity.is_one_model else MODELS:
                config = configure(source, name, capacity)
                files = _choose_files(source, name, spare, is_one_model=capacity.is_one_model)
                _write_model(part / name, config, files)
                if capacity.is_one_model:
                    write_list(part / name / "1", one_model.list_networks(source, name))
            with defer_stops():
                _replace_models(target, part)
    except OSError as error:
        file = error.filename2 or error.filename  # the first of two is the source of a copy
        where = f" ({file})" if file else ""
        raise SettingsError(f"{target}: cannot be written: {error.strerror}{where}") from error
    return target


def configure(source: ModelSource, name: str, capacity: Capacity = GPU) -> str:
    """Return a model's config.pbtxt for an engine and a country's plates.

    Raises:
        SettingsError: The file in the repository does not parse.
        WeightsError: The weights do not say which plates they read.
    """
    from google.protobuf import text_format

    config = read_config(source.repository / name / CONFIG)
    if name == PLATE_READER and capacity.is_one_model:
        one_model.configure_reader(config, read_config(source.repository / DECODE / CONFIG))
        _copy_settings(read_config(source.repository / MODEL / CONFIG), config)
    if is_python(source, name):
        config.backend = "python"
    elif name in EXPORTED:
        config.backend = source.choose_engine(name).backend
    _fit_processor(config, name, source.engine, capacity)
    if name == MODEL and source.read_formats().country:
        _add_countries(config)
    if name == READER:
        config.output[0].dims[0] = source.read_formats().classes
    if name == DECODE:
        config.input[0].dims[1] = source.read_formats().classes
        _copy_settings(read_config(source.repository / MODEL / CONFIG), config)
    return str(text_format.MessageToString(config))


def _fit_processor(config: Any, name: str, engine: Engine, capacity: Capacity) -> None:
    """Set what depends on the CPU or GPU: devices, instances, batches, graphs and limits."""
    from tritonclient.grpc.model_config_pb2 import ModelInstanceGroup

    for group in config.instance_group:  # an ensemble has none
        if engine.is_openvino or (name == MODEL and not capacity.pictures_on_gpu):
            group.kind = ModelInstanceGroup.KIND_CPU
        elif capacity.on_gpu and group.kind == ModelInstanceGroup.KIND_AUTO:
            group.kind = ModelInstanceGroup.KIND_GPU  # AUTO silently falls back to the CPU
        group.count = count_instances(name, capacity)
    if name in NETWORKS and not capacity.on_gpu:
        # A CPU needs as long for two joined calls as for one after the other, and OpenVINO prepares
        # the network for each new size of a batch: 60 ms and 30 MB for the detector.
        config.ClearField("dynamic_batching")
    if name == MODEL and capacity.gateway_queues:
        # With a limit of its own queue, Triton gives a worker the next call only after it has seen
        # the end of the last one: workers stood still for 8 % of the time under load.
        config.ClearField("dynamic_batching")
    if capacity.on_gpu and name in {MODEL, *EXPORTED}:
        config.parameters[HANG].string_value = HANG_ON_A_GPU
    if name == DETECTOR and capacity.on_gpu:
        _warm_batches(config, max(capacity.pictures, MAX_TILES))
        config.optimization.cuda.graphs = True


def _add_countries(config: Any) -> None:
    """Add the outputs about countries to those of `plate_recognition`, unless they are there."""
    from tritonclient.grpc.model_config_pb2 import DataType

    names = {output.name for output in config.output}
    for name, output in COUNTRY_OUTPUTS.items():
        if name not in names:
            kind = DataType.TYPE_STRING if output.dtype is np.object_ else DataType.TYPE_FP32
            config.output.add(name=name, data_type=kind, dims=[-1, *output.row_shape])


def _warm_batches(config: Any, max_batch: int) -> None:
    """Add a tile, and batches of up to `max_batch`, to the pictures that warm the detector up.

    A GPU prepares its kernels for each new shape, or captures a graph of them.
    """
    tile = config.model_warmup.add()
    tile.CopyFrom(config.model_warmup[0])
    tile.name = "tile"
    tile.inputs[INPUT].dims[:2] = TILE_WH[::-1]
    for alone in list(config.model_warmup):
        for batch in range(2, min(max_batch, config.max_batch_size) + 1):
            several = config.model_warmup.add()
            several.CopyFrom(alone)
            several.name, several.batch_size = f"{alone.name}, {batch} at once", batch


def is_python(source: ModelSource, name: str) -> bool:
    """Tell whether a step is served as a Python model: beside OpenVINO it needs no PyTorch."""
    model = source.repository / name / "1" / "model.py"
    return name in STEPS and source.engine.is_openvino and model.is_file()


def canary_folder(repository: Path) -> Path:
    """Return the folder of the canary picture in a repository of our models."""
    return repository / MODEL / "1"


def _check_target(source: ModelSource, target: Path) -> None:
    """Check that writing a folder would destroy nothing.

    Raises:
        SettingsError: It is the source itself, or has files that `lay_out` did not write.
    """
    if not target.is_dir() or {path.name for path in target.iterdir()} <= {PART}:
        return
    message = f"{target}: wanted a new folder, or one that plates export --out wrote, got"
    if not is_laid_out(target) or target.resolve() == source.repository.resolve():
        raise SettingsError(f"{message} another; nothing in it was changed")
    added_versions = [
        path for name in MODELS for path in (target / name).glob("[0-9]*") if path.name != "1"
    ]
    if added_versions:
        raise SettingsError(
            f"{message} one with {added_versions[0]}, which was added since and would be lost; "
            "remove it, and add it again afterwards"
        )


def _choose_files(
    source: ModelSource, name: str, spare: Path | None, *, is_one_model: bool
) -> dict[str, Path]:
    """Return the files of a model's version folder, by their names there."""
    if is_python(source, name):
        return {"model.py": source.repository / name / "1" / "model.py"}
    if name in EXPORTED:
        network_files = files_of(find_export(source, name, spare))
        return {f"model{file.suffix}": file for file in network_files}
    if is_one_model:
        files = one_model.find_networks(source, name, spare)
        files["model.py"] = one_model.find_code(source, name)
    elif name in WORKERS:
        files = {"model.py": source.repository / name / "1" / "model.py"}
    else:  # an ensemble
        return {}
    files[FORMATS_FILE] = source.choose_formats()
    if name == MODEL and has_canary(source.weights):
        files |= {name: source.weights / name for name in CANARY_FILES}
    return files


def _write_model(folder: Path, config: str, files: Mapping[str, Path]) -> None:
    (folder / "1").mkdir(parents=True)
    (folder / CONFIG).write_text(config, encoding="utf-8")
    for name, file in files.items():
        shutil.copy(file, folder / "1" / name)


def _replace_models(target: Path, part: Path) -> None:
    """Move new models from their folder into a repository, and its old ones out of it."""
    for name in MODELS:
        if (target / name).exists():
            (target / name).rename(part / f"old.{name}")
        if (part / name).exists():
            (part / name).rename(target / name)


def _copy_settings(source: Any, target: Any) -> None:
    """Copy the settings of one model to another, so that an operator sets them in one place."""
    for name in SETTINGS_OF_READINGS:
        if name in source.parameters:
            target.parameters[name].CopyFrom(source.parameters[name])
