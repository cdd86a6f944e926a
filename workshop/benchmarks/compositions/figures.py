"""The figures of each cell of the comparison, and the report of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workshop.benchmarks.compositions.spending import Spent
from workshop.benchmarks.compositions.traffic import Traffic, count_shm_bytes
from workshop.benchmarks.compositions.workloads import Form
from workshop.benchmarks.load import Round
from workshop.benchmarks.metrics import ModelTimes, add_up, times_of
from workshop.benchmarks.pooling import LoadFigures, pool
from workshop.reporting.machine import Machine


@dataclass(frozen=True)
class Cell:
    """A cell of the comparison: one form under one load."""

    form: str
    picture: str
    instances: int
    concurrency: int


@dataclass(frozen=True)
class Sample:
    """One round of a cell.

    Attributes:
        spent: The resources used during the measurement, by process group of the form.
        machine_s: The CPU time of the whole machine during the measurement.
    """

    round: Round
    spent: Mapping[str, Spent]
    machine_s: float


@dataclass(frozen=True)
class CellFigures:
    """The figures of a cell over all its rounds.

    Attributes:
        models: Calls, queue time and work time per call, of the called model and those behind it.
        spent: The resources used per call, by model, and by the server's own process.
        hops: The calls per call to models that have processes.
        shm_bytes: The bytes written to /dev/shm per call.
        idle: The share of the cores that was unused.
        others: The number of cores that other programs used meanwhile.
    """

    workload: str
    cell: Cell
    load: LoadFigures
    models: Mapping[str, ModelTimes]
    spent: Mapping[str, Spent]
    hops: float
    shm_bytes: float
    idle: float
    others: float


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
    """The report of a run.

    Attributes:
        seconds: The duration of each cell in each round.
        traffic: The bytes of the tensors, by workload, picture and model.
    """

    date: str
    machine: Machine
    seconds: float
    rounds: int
    cells: tuple[CellFigures, ...]
    memory: tuple[Memory, ...]
    traffic: Mapping[str, Mapping[str, Mapping[str, Traffic]]]


def sum_up(
    workload: str,
    form: Form,
    cell: Cell,
    samples: Sequence[Sample],
    traffic: Mapping[str, Traffic],
    cores: int,
) -> CellFigures:
    """Return the figures of a cell.

    Raises:
        ZeroDivisionError: No call was answered.
    """
    rounds = [one.round for one in samples]
    counted = add_up(one.counters for one in rounds)
    called = counted[f"{form.model} request_success"]
    names = dict.fromkeys((form.model, *form.workers))
    models = {name: times_of(name, counted, called) for name in names}
    calls = {name: models[name].calls for name in form.workers}
    wall_s = sum(one.seconds for one in rounds)
    ours_s = sum((one.cpu_s.server or 0.0) + (one.cpu_s.client or 0.0) for one in rounds)
    machine_s = sum(one.machine_s for one in samples)
    load = pool(rounds)
    return CellFigures(
        workload=workload,
        cell=cell,
        load=load,
        models=models,
        spent={who: spent.divided(load.calls) for who, spent in _add_spent(samples).items()},
        hops=sum(calls.values()),
        shm_bytes=count_shm_bytes(form, calls, traffic),
        idle=1 - machine_s / (cores * wall_s),
        others=(machine_s - ours_s) / wall_s,
    )


def _add_spent(samples: Sequence[Sample]) -> dict[str, Spent]:
    total: dict[str, Spent] = {}
    for one in samples:
        for who, spent in one.spent.items():
            total[who] = total.get(who, Spent()).plus(spent)
    return total
