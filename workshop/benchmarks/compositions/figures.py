"""The figures of each cell of the comparison, and the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workshop.benchmarks.metrics import ModelTimes
from workshop.benchmarks.pooling import LoadFigures
from workshop.reporting.machine import Machine


@dataclass(frozen=True)
class Cell:
    """A cell of the comparison: one form under one load."""

    form: str
    picture: str
    instances: int
    concurrency: int


@dataclass(frozen=True)
class CellFigures:
    """The figures of a cell over all its rounds.

    Attributes:
        models: Calls, queue time and work time per call of each model that has processes.
    """

    workload: str
    cell: Cell
    load: LoadFigures
    models: Mapping[str, ModelTimes]

    @property
    def hops(self) -> float:
        """The calls per call to models that have processes."""
        return sum(model.calls for model in self.models.values())


@dataclass(frozen=True)
class Memory:
    """Memory of the processes of some models, idle after the load; shared pages in parts (PSS)."""

    workload: str
    instances: int
    models: str
    processes: int
    memory_bytes: int


@dataclass(frozen=True)
class CompositionsReport:
    """The report of a run; `seconds` is the duration of each cell in each round."""

    date: str
    machine: Machine
    seconds: float
    rounds: int
    cells: tuple[CellFigures, ...]
    memory: tuple[Memory, ...]
