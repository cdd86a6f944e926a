"""The settings of the peer, which its processes read from an environment variable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.bench.pipelines import (
    Parameters,
    Pipeline,
    choose_variables,
    open_pipeline,
)

VARIABLE = "PLATES_PEER"
"""The environment variable with the settings as JSON."""


@dataclass(frozen=True)
class PeerSettings:
    """The settings of a peer; engine, weights and parameters are those of the compared Triton.

    Attributes:
        weights: Folder of the networks' weights.
        engine: The name of the engine.
        parameters: The settings of the model `plate_recognition`.
        workers: The number of processes; each loads the networks and has one thread of inference.
    """

    weights: str
    engine: str
    parameters: Parameters
    workers: int

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> PeerSettings:
        """Return the settings of the peer to which this process belongs."""
        return cls(**json.loads(variables[VARIABLE]))

    @property
    def options(self) -> ServerOptions:
        """The options of a server like one worker: one picture at once, in one thread."""
        engine, weights = Engine(self.engine), Path(self.weights)
        return ServerOptions(weights=weights, device="cpu", engine=engine, threads=1, pictures=1)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of the peer's processes."""
        return {VARIABLE: json.dumps(asdict(self)), **choose_variables(self.options)}

    def open(self) -> Pipeline:
        """Load the networks into this process, in the thread that will run them."""
        return open_pipeline(self.options, self.parameters)
