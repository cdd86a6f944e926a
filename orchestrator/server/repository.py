"""The model repository: its exported files, and what a server gets of it for one engine."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from orchestrator.contract import DECODE, FORMATS_FILE, MODEL, PLATE_READER, READER
from orchestrator.errors import SettingsError
from orchestrator.formats import RUSSIA, Formats, read_formats
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import EXPORTED, NETWORKS, STEPS
from orchestrator.networks.weights import WEIGHTS, check_listed, sha256
from orchestrator.server.capacity import Capacity
from orchestrator.server.models import CONFIG, read_config

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
MODELS = (MODEL, *NETWORKS, *STEPS, DECODE, PLATE_READER)
WORKERS = (MODEL, DECODE)  # Python models
SETTINGS_OF_READINGS = ("text_threshold", "temperature")
"""Settings of `plate_recognition` that `plate_reader` has, too."""
_CODE = Path(__file__).resolve().parents[1] / "networks"

logger = logging.getLogger(__name__)


def holds_plates(repository: Path) -> bool:
    """Tell whether a repository is one of our models; any other is served as it lies."""
    return repository == REPOSITORY or (repository / MODEL).is_dir()


def check_models(repository: Path) -> None:
    """See that a folder is a repository of our models.

    Raises:
        SettingsError: A model has no config.pbtxt there.
    """
    for name in MODELS:
        config = repository / name / CONFIG
        if not config.is_file():
            raise SettingsError(f"model repository: no such file: {config}")


def export_networks(
    repository: Path = REPOSITORY,
    weights: Path = WEIGHTS,
    engine: Engine = Engine.TORCHSCRIPT,
    formats: Path = RUSSIA,
    *,
    force: bool = False,
) -> list[Path]:
    """Write the file of each network and step that is missing or comes from other weights or code.

    Args:
        repository: The model repository.
        weights: Folder of the weights.
        engine: Which files; not `auto`.
        formats: File of the plates that the weights were trained for.
        force: Write those that are up to date, too.

    Returns:
        The files written.

    Raises:
        SettingsError: The folder is no repository of our models, or cannot be written.
        WeightsError: A weight file is missing, not the listed one, or one for another alphabet.
    """
    check_models(repository)
    plates = read_formats(formats)
    wanted = {name: fingerprint(name, weights, engine, plates) for name in EXPORTED}
    files = {name: model_file(repository, name, engine) for name in EXPORTED}
    stale = [name for name in EXPORTED if force or _stamp(files[name]) != wanted[name]]
    if not stale:
        return []
    for name in stale:
        _check_writable(files[name].parent)
    logger.info("exporting %s ...", ", ".join(stale))
    from orchestrator.networks import export  # PyTorch takes seconds to import

    for name in stale:
        export.write_network(name, files[name], weights, engine, plates)
        _write_stamp(files[name], wanted[name])
    return [files[name] for name in stale]


def _check_writable(folder: Path) -> None:
    """See that files can be made in a folder, before the work of making them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SettingsError(
            f"{folder}: the exported network cannot be written here: {error.strerror}; copy the "
            "model repository to a folder that can be written and name it with --model-repository"
        ) from error


def lay_out(
    repository: Path,
    target: Path,
    engine: Engine,
    capacity: Capacity | None = None,
    formats: Path = RUSSIA,
) -> Path:
    """Write the repository that a server gets: exported files and configurations of one engine.

    It is what Triton's own backends of these names take, too.

    Args:
        repository: Our models, with the engine's exported files.
        target: The folder to write; model folders in it are replaced.
        engine: Not `auto`.
        capacity: How many instances of each model on a CPU. None is for GPUs alone: as many as
            config.pbtxt says, and without a GPU the server does not start.
        formats: File of what the plates may say, which goes along with the models that say it.

    Raises:
        SettingsError: The folder is no repository of our models, the formats cannot be read, or the
            target cannot be written.
    """
    check_models(repository)
    plates = read_formats(formats)
    for name in MODELS:
        config = configure(repository, name, engine, capacity, plates)
        files = _find_files(repository, name, engine)
        if name in WORKERS:
            files[FORMATS_FILE] = formats
        try:
            _write_model(target / name, config, files)
        except OSError as error:
            raise SettingsError(f"{target / name}: cannot be written: {error.strerror}") from error
    return target


def _write_model(folder: Path, config: str, files: Mapping[str, Path]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "1").mkdir(parents=True)
    (folder / CONFIG).write_text(config, encoding="utf-8")
    for name, file in files.items():
        shutil.copy(file, folder / "1" / name)


def configure(
    repository: Path,
    name: str,
    engine: Engine,
    capacity: Capacity | None = None,
    formats: Formats | None = None,
) -> str:
    """Return a model's config.pbtxt for an engine and a country's plates.

    Raises:
        SettingsError: The file in the repository does not parse.
    """
    from google.protobuf import text_format
    from tritonclient.grpc.model_config_pb2 import ModelInstanceGroup

    config = read_config(repository / name / CONFIG)
    if name in EXPORTED:
        config.backend = EXPORTED[name].choose_engine(engine).backend
    for group in config.instance_group:  # an ensemble has none
        if engine.is_openvino:
            group.kind = ModelInstanceGroup.KIND_CPU
        elif capacity is None and group.kind == ModelInstanceGroup.KIND_AUTO:
            group.kind = ModelInstanceGroup.KIND_GPU  # AUTO falls back to the CPU without a word
        if capacity:
            group.count = _count_instances(name, capacity)
    if formats and name == READER:
        config.output[0].dims[0] = formats.classes
    if formats and name == DECODE:
        config.input[0].dims[1] = formats.classes
    if name == DECODE:
        _copy_settings(read_config(repository / MODEL / CONFIG), config)
    return str(text_format.MessageToString(config))


def count_ours(capacity: Capacity) -> int:
    """Return how many worker processes our models take on a CPU; the ensemble takes none."""
    return sum(_count_instances(name, capacity) for name in (*WORKERS, *EXPORTED))


def _count_instances(name: str, capacity: Capacity) -> int:
    if name == MODEL:
        return capacity.pictures
    is_heavy = name in NETWORKS and not NETWORKS[name].is_quick
    return capacity.instances if is_heavy else 1


def _copy_settings(source: Any, target: Any) -> None:
    """Give a model the settings of another, which an operator sets in one place."""
    for name in SETTINGS_OF_READINGS:
        if name in source.parameters:
            target.parameters[name].CopyFrom(source.parameters[name])


def model_file(repository: Path, name: str, engine: Engine = Engine.TORCHSCRIPT) -> Path:
    """Return where a network's exported file belongs; those of all engines lie side by side."""
    kind = {Engine.TORCHSCRIPT: "pt", Engine.OPENVINO: "xml", Engine.OPENVINO_INT8: "int8.xml"}
    return repository / name / "1" / f"model.{kind[EXPORTED[name].choose_engine(engine)]}"


def served_file(engine: Engine) -> str:
    """Return the name under which a server looks for an exported file."""
    return "model.xml" if engine.is_openvino else "model.pt"


def fingerprint(name: str, weights: Path, engine: Engine, formats: Formats) -> str:
    """Return what an exported file depends on, as one SHA-256: weights, code, libraries, engine.

    Raises:
        WeightsError: The weight file is missing or not the listed one.
    """
    network = EXPORTED[name]
    chosen = network.choose_engine(engine)
    parts = [chosen.value, formats.alphabet]
    parts += [check_listed(weights / network.weights)] if network.weights else []
    # Beside a Triton with a PyTorch backend OpenVINO need not be installed.
    libraries = ("torch", "openvino") if chosen.is_openvino else ("torch",)
    parts += [metadata.version(library) for library in libraries]
    parts += [sha256(path) for path in sorted(weights.glob(f"{name}.int8.*"))]
    code = (f"{name}.py", "export.py", "ir.py", *(() if network.weights else ("../images.py",)))
    parts += [(_CODE / file).read_text() for file in code]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _find_files(repository: Path, name: str, engine: Engine) -> dict[str, Path]:
    """Return what belongs into a model's version folder, by the names it has there."""
    if name in WORKERS:
        return {"model.py": repository / name / "1" / "model.py"}
    if name not in EXPORTED:  # an ensemble
        return {}
    engine = EXPORTED[name].choose_engine(engine)
    file = model_file(repository, name, engine)
    files = {served_file(engine): file}
    if engine.is_openvino:
        files["model.bin"] = file.with_suffix(".bin")
    for one in files.values():
        if not one.is_file():
            raise SettingsError(
                f"{one}: no such file: the network is not exported yet; "
                f"run plates export --engine {engine.value}"
            )
    return files


def _stamp(file: Path) -> str:
    """Return the fingerprint that an exported file was made with, `""` without a file."""
    stamp = _stamp_file(file)
    return stamp.read_text() if stamp.is_file() and file.is_file() else ""


def _write_stamp(file: Path, fingerprint: str) -> None:
    stamp = _stamp_file(file)
    try:
        stamp.write_text(fingerprint)
    except OSError as error:
        raise SettingsError(f"{stamp}: cannot be written: {error.strerror}") from error


def _stamp_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")
