"""Which engine each network really runs with."""

from __future__ import annotations

from pathlib import Path

from orchestrator.networks import quantized
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS, choose_engine


def name_engines(engine: Engine, weights: Path) -> dict[str, Engine]:
    """Return what runs each network where this engine was chosen for all of them.

    Args:
        engine: Not `auto`.
        weights: Folder of the weights; a network without an 8-bit form of these weights is float32,
            somebody else's detector is TorchScript.

    Raises:
        WeightsError: A weight file is not the one that SHA256SUMS lists.
    """
    return {name: _engine_of(name, engine, weights) for name in NETWORKS}


def _engine_of(name: str, engine: Engine, weights: Path) -> Engine:
    chosen = choose_engine(name, weights, engine)
    if chosen is Engine.OPENVINO_INT8 and quantized.read(name, weights) is None:
        return Engine.OPENVINO
    return chosen
