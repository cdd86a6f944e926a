"""Finds the engine that each network really runs with."""

from __future__ import annotations

from pathlib import Path

from orchestrator.networks import quantized
from orchestrator.networks.engines import Engine
from orchestrator.networks.registry import NETWORKS, choose_engine


def name_engines(engine: Engine, weights: Path) -> dict[str, Engine]:
    """Return the engine that runs each network when this engine was chosen for all.

    Args:
        engine: The chosen engine, not `auto`.
        weights: The folder of the weights. A network without an 8-bit form of these weights runs in
            float32. A detector from another project runs in TorchScript.

    Raises:
        WeightsError: A weight file has another SHA-256 than SHA256SUMS lists.
    """
    return {name: _engine_of(name, engine, weights) for name in NETWORKS}


def _engine_of(name: str, engine: Engine, weights: Path) -> Engine:
    chosen = choose_engine(name, weights, engine)
    if chosen is Engine.OPENVINO_INT8 and quantized.read(name, weights) is None:
        return Engine.OPENVINO
    return chosen
