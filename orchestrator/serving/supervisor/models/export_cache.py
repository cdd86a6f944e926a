"""Exported networks, named by the hash of everything they depend on.

Exports of other weights have other names and lie beside them. A server therefore keeps its files,
whatever is exported later.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import Formats, read_formats
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import EXPORTED, choose_engine
from orchestrator.networks.weights import WEIGHTS, check_listed, choose_formats, sha256
from orchestrator.serving.supervisor.models.plate_models import REPOSITORY, check_models

DIGITS = 16
"""Hex digits of the hash in a file's name: enough that two hashes never collide by chance."""
_CODE = Path(__file__).resolve().parents[3] / "networks"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelSource:
    """The inputs from which a service's models are made.

    Attributes:
        repository: The models' configurations and code, and earlier exports of networks.
        weights: Folder of the weights.
        engine: The engine of the networks; not `auto`.
        formats: File of the plate formats, in the alphabet of the weights; None means the file of
            the weights.
    """

    repository: Path = REPOSITORY
    weights: Path = WEIGHTS
    engine: Engine = Engine.TORCHSCRIPT
    formats: Path | None = None

    def choose_formats(self) -> Path:
        """Return the file of the plate formats.

        Raises:
            SettingsError: The file cannot be read, or has no valid formats.
            WeightsError: The weights have no such file, or read another alphabet.
        """
        return choose_formats(self.weights, self.formats)

    def read_formats(self) -> Formats:
        """Return the plate formats; raises the errors of `choose_formats`."""
        return read_formats(self.choose_formats())

    def choose_engine(self, name: str) -> Engine:
        """Return the engine of one of the models."""
        return choose_engine(name, self.weights, self.engine)

    def hash(self, name: str) -> str:
        """Return the SHA-256 of an export's inputs: weights, code, libraries and engine.

        Raises:
            WeightsError: The weight file is missing or not the listed one.
        """
        network, engine = EXPORTED[name], self.choose_engine(name)
        parts = [engine.value, self.read_formats().alphabet]
        parts += [check_listed(self.weights / network.weights)] if network.weights else []
        # OpenVINO need not be installed beside a Triton with a PyTorch backend.
        libraries = ("torch", "openvino") if engine.is_openvino else ("torch",)
        parts += [metadata.version(library) for library in libraries]
        parts += [sha256(path) for path in sorted(self.weights.glob(f"{name}.int8.*"))]
        code = [f"{name}.py", "export.py", "openvino_ir.py"]
        code += [] if network.weights else ["../reading/torch_crops.py", "../reading/sizes.py"]
        parts += [(_CODE / file).read_text() for file in code]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def exported_file(self, name: str) -> Path:
        """Return the path of a network's exported file in the repository."""
        kind = "xml" if self.choose_engine(name).is_openvino else "pt"
        return self.repository / name / "1" / f"model.{self.hash(name)[:DIGITS]}.{kind}"


def export_networks(
    source: ModelSource, *, spare: Path | None = None, force: bool = False
) -> list[Path]:
    """Write the file of each network and step that is missing.

    Args:
        source: The inputs and the repository.
        spare: A folder for files that cannot be written to the repository; without it that is an
            error.
        force: Also write files that exist already.

    Returns:
        The files written.

    Raises:
        SettingsError: The repository has none of our models, or cannot be written.
        WeightsError: A weight file is missing, is not the listed one, or is for another alphabet.
    """
    files = plan_export(source, spare=spare, force=force)
    if not files:
        return []
    logger.info("exporting %s ...", ", ".join(files))
    from orchestrator.networks import export  # PyTorch takes seconds to import

    plates = source.read_formats()
    for name, file in files.items():
        export.write_network(name, file, source.weights, source.engine, plates)
    return [*files.values()]


def plan_export(
    source: ModelSource, *, spare: Path | None = None, force: bool = False
) -> dict[str, Path]:
    """Return the files that `export_networks` writes, by the name of the network or step.

    Raises:
        SettingsError: As `export_networks`.
        WeightsError: As `export_networks`, for a file that is missing or not the listed one.
    """
    check_models(source.repository)
    files = {name: source.exported_file(name) for name in EXPORTED}
    return {
        name: _choose_place(file, spare)
        for name, file in files.items()
        if force or not _find(file, spare)
    }


def find_export(source: ModelSource, name: str, spare: Path | None = None) -> Path:
    """Return a network's exported file.

    Raises:
        SettingsError: The file is missing.
        WeightsError: The weights cannot be used.
    """
    file = source.exported_file(name)
    export = _find(file, spare)
    if export is None:
        raise SettingsError(
            f"{file}: no such file: the network is not exported yet; "
            f"run plates export --engine {source.engine.value}"
        )
    return export


def files_of(file: Path) -> tuple[Path, ...]:
    """Return all files of one export: numbers lie beside an .xml file."""
    return (file, file.with_suffix(".bin")) if file.suffix == ".xml" else (file,)


def _find(file: Path, spare: Path | None) -> Path | None:
    places: Iterable[Path] = [file, *([spare / file.name] if spare else [])]
    return next(
        (place for place in places if all(part.is_file() for part in files_of(place))), None
    )


def _choose_place(file: Path, spare: Path | None) -> Path:
    """Return a writable path for a file; check that before the work of making the file."""
    # A new checkout has no folder of the version yet: it is made in the model's folder.
    folder = file.parent if file.parent.exists() else file.parents[1]
    if spare and not os.access(folder, os.W_OK):
        return spare / file.name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise SettingsError(
            f"{file.parent}: the exported network cannot be written here: {error.strerror}; copy "
            "the model repository to a folder that can be written and name it with "
            "--model-repository"
        ) from error
    return file
