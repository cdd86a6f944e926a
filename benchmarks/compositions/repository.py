"""One model repository with all compositions; BLS model and ensemble share the networks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from benchmarks.compositions import ENSEMBLE, MONOLITH
from orchestrator.contract import MODEL
from orchestrator.networks.engines import Engine
from orchestrator.server import repository
from orchestrator.server.options import ServerOptions

FOLDER = Path(__file__).resolve().parent
CONFIG = "config.pbtxt"


def lay_out(options: ServerOptions, target: Path) -> Path:
    """Write the repository of all compositions, for the CPU; return its folder.

    All have the same settings and as many pictures in work.
    """
    engine = options.choose_engine()
    repository.lay_out(options.repository, target, engine, options.capacity())
    bls = _read(target / MODEL / CONFIG)
    for source in (*(FOLDER / ENSEMBLE).iterdir(), *(FOLDER / MONOLITH).iterdir()):
        (target / source.name / "1").mkdir(parents=True)  # Triton wants one of the ensemble, too
        config = _read(source / CONFIG)
        if config.backend:
            shutil.copy(source / "1" / "model.py", target / source.name / "1")
            _adapt(config, bls, engine, options.weights)
        (target / source.name / CONFIG).write_text(text_format.MessageToString(config))
    return target


def _read(path: Path) -> Any:
    return text_format.Parse(path.read_text(encoding="utf-8"), ModelConfig())


def _adapt(config: Any, bls: Any, engine: Engine, weights: Path) -> None:
    """Give a model the instances and the settings of the BLS model."""
    config.instance_group.add().CopyFrom(bls.instance_group[0])
    for name, value in bls.parameters.items():
        config.parameters[name].CopyFrom(value)
    config.parameters["FORCE_CPU_ONLY_INPUT_TENSORS"].string_value = "yes"
    config.parameters["ENGINE"].string_value = engine.value
    config.parameters["WEIGHTS"].string_value = str(weights.resolve())
