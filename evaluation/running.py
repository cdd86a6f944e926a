"""Which engine each network really runs with."""

from __future__ import annotations

from pathlib import Path

from orchestrator.networks import quantized
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS


def name_engines(engine: Engine, weights: Path) -> dict[str, Engine]:
    """Return what runs each network where this engine was chosen for all of them.

    Args:
        engine: Not `auto`.
        weights: Folder of the weights; without the 8-bit form of a network that one is float32.

    Raises:
        WeightsError: A weight file is not the one that SHA256SUMS lists.
    """
    return {name: _engine_of(name, engine, weights) for name in NETWORKS}


def _engine_of(name: str, engine: Engine, weights: Path) -> Engine:
    if engine is Engine.OPENVINO_INT8 and quantized.read(name, weights) is None:
        return Engine.OPENVINO
    return engine
