"""Writes model repositories with every form of a workload, for the CPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from orchestrator.contract import MODEL
from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.model_repository import CONFIG, list_models, read_config
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.repository_writer import lay_out

FOLDER = Path(__file__).resolve().parent
FORMS = ("ensemble", "monolith")
OCR_NETWORKS = ("detector", "recogniser")


def lay_out_plates(options: ServerOptions, target: Path) -> Path:
    """Write the BLS model, the ensemble and the monolith; the first two share the networks.

    All have the same settings and the same number of pictures in progress. No queue has a limit.
    """
    engine = options.choose_engine()
    lay_out(options.source(), target, options.capacity())
    edit(target, _lift_limit)
    bls = read_config(target / MODEL / CONFIG)
    for source in (folder for form in FORMS for folder in (FOLDER / form).iterdir()):
        (target / source.name / "1").mkdir(parents=True)  # Triton requires it for an ensemble, too
        config = read_config(source / CONFIG)
        if config.backend:
            shutil.copy(source / "1" / "model.py", target / source.name / "1")
            _adapt(config, bls, engine, options.weights)
        (target / source.name / CONFIG).write_text(text_format.MessageToString(config))
    return target


def _lift_limit(name: str, config: Any) -> None:
    """Remove the queue limit; with one instance, Triton sometimes pauses because of it."""
    if name == MODEL:
        config.ClearField("scheduling_choice")


def _adapt(config: Any, bls: Any, engine: Engine, weights: Path) -> None:
    """Give a model the instances and the settings of the BLS model."""
    config.instance_group.add().CopyFrom(bls.instance_group[0])
    for name, value in bls.parameters.items():
        config.parameters[name].CopyFrom(value)
    config.parameters["FORCE_CPU_ONLY_INPUT_TENSORS"].string_value = "yes"
    config.parameters["ENGINE"].string_value = engine.value
    config.parameters["WEIGHTS"].string_value = str(weights.resolve())


def lay_out_ocr(options: ServerOptions, target: Path) -> Path:
    """Write the ensemble and the one model, for as many pictures at once."""
    shutil.copytree(options.repository, target)
    capacity = options.capacity()

    def scale(name: str, config: Any) -> None:
        is_network = name in OCR_NETWORKS
        for group in config.instance_group:
            group.count = capacity.instances if is_network else capacity.pictures

    return edit(target, scale)


def edit(target: Path, change: Callable[[str, Any], None]) -> Path:
    """Apply a change to each model's configuration in a repository."""
    for name in list_models(target):
        config = read_config(target / name / CONFIG)
        change(name, config)
        (target / name / CONFIG).write_text(text_format.MessageToString(config))
    return target
