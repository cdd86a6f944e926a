"""One server with all three forms: the BLS model, the ensemble and the monolith.

The networks' folders are those of the main server, and BLS model and ensemble share them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from orchestrator.contract import MODEL
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS
from orchestrator.server import process, repository
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions

FOLDER = Path(__file__).resolve().parent
CONFIG = "config.pbtxt"
BLS, ENSEMBLE, MONOLITH = "bls", "ensemble", "monolith"
MODELS = {BLS: MODEL, ENSEMBLE: "plates_ensemble", MONOLITH: "plates_monolith"}
"""The model to call of each form."""
WORKERS = {BLS: (MODEL,), ENSEMBLE: ("prepare", "crop", "decode"), MONOLITH: ("plates_monolith",)}
"""The Python models of each form, which have processes of their own."""


def lay_out(options: ServerOptions, target: Path) -> Path:
    """Write the repository of all forms, with as many pictures in work and the same settings."""
    engine = options.choose_engine()
    repository.lay_out(options.repository, target, engine, options.capacity())
    ours = _read(target / MODEL / CONFIG)
    for source in (*(FOLDER / ENSEMBLE).iterdir(), *(FOLDER / MONOLITH).iterdir()):
        (target / source.name / "1").mkdir(parents=True)  # Triton wants one of the ensemble, too
        config = _read(source / CONFIG)
        if config.backend:
            shutil.copy(source / "1" / "model.py", target / source.name / "1")
            _adapt(config, ours, engine)
        (target / source.name / CONFIG).write_text(text_format.MessageToString(config))
    return target


def _read(path: Path) -> Any:
    return text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())


def _adapt(config: Any, ours: Any, engine: Engine) -> None:
    """Give a rival's model the instances and the settings of the BLS model."""
    config.instance_group.add().CopyFrom(ours.instance_group[0])
    for name, value in ours.parameters.items():
        config.parameters[name].CopyFrom(value)
    config.parameters["FORCE_CPU_ONLY_INPUT_TENSORS"].string_value = "yes"
    config.parameters["ENGINE"].string_value = engine.value
    config.parameters["WEIGHTS"].string_value = str(WEIGHTS)


@contextmanager
def running(
    engine: Engine = Engine.AUTO, *, pictures: int = 0, threads: int = 0
) -> Iterator[process.Server]:
    """Run a server with all forms, on the CPU, for the length of a `with` block.

    Args:
        engine: What runs the networks.
        pictures: In work at once, of each form; as many as the service has when 0.
        threads: CPU threads of one inference; as many as the service has when 0.

    Raises:
        ServerError: It cannot be started; the message says why.
    """
    options = on_free_ports(prepare(ServerOptions(device="cpu", engine=engine, threads=threads)))
    with process.running(replace(options, pictures=pictures), lay_out) as started:
        yield started
