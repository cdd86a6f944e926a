"""The report of a comparison, and its Markdown tables, which are readable without rendering."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

from workshop.benchmarks.metrics import ModelTimes
from workshop.benchmarks.pooling import LoadFigures, divide_throughput
from workshop.reporting.machine import Machine
from workshop.reporting.tables import format_figure, format_markdown

MB = 1e6
CELLS = (
    "picture", "form", "instances", "calls at once", "pictures/s", "to the first form", "p50 ms",
    "p99 ms", "CPU ms", "hops", "queue ms",
)  # fmt: skip
MEMORY = ("models", "instances", "processes", "MB", "MB an instance")
Row = Sequence[str | float | int | None]


@dataclass(frozen=True)
class Cell:
    """A cell of the comparison: one form under one load."""

    form: str
    picture: str
    instances: int
    concurrency: int

    def __str__(self) -> str:
        return f"{self.form}, {self.picture}, {self.instances} instances x{self.concurrency}"


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


def format_tables(report: CompositionsReport) -> str:
    """Return every table of a run."""
    machine = report.machine
    head = (
        f"{report.date}: {machine.cores} cores, {machine.cpu}; Triton {machine.triton}; "
        f"{report.rounds} rounds of {report.seconds:g} s a cell.\n"
    )
    parts = [head]
    for workload in dict.fromkeys(one.workload for one in report.cells):
        cells = [one for one in report.cells if one.workload == workload]
        parts += [f"### {workload}\n", _format(CELLS, [*_list_cells(cells)])]
        parts.append(_format(MEMORY, [*_list_memory(report, workload)]))
    return "\n".join(parts)


def _list_cells(cells: Sequence[CellFigures]) -> Iterator[Row]:
    first = cells[0].cell.form
    bases = {astuple(one.cell)[1:]: one for one in cells if one.cell.form == first}
    for one in sorted(cells, key=lambda one: (one.cell.picture, *astuple(one.cell)[2:])):
        cell, load = one.cell, one.load
        base = bases[astuple(cell)[1:]].load
        ratio = divide_throughput(load, base)
        queue_ms = sum(model.queue_ms for model in one.models.values())
        yield (
            *(cell.picture, cell.form, cell.instances, cell.concurrency),
            *(load.throughput, ratio, load.p50_ms, load.p99_ms, load.cpu_ms.server),
            *(one.hops, queue_ms),
        )


def _list_memory(report: CompositionsReport, workload: str) -> Iterator[Row]:
    for one in report.memory:
        if one.workload == workload:
            mb = one.memory_bytes / MB
            yield (one.models, one.instances, one.processes, mb, mb / one.instances)


def _format(header: Sequence[str], rows: Sequence[Row]) -> str:
    shown = [
        [format_figure(cell) if isinstance(cell, float) else cell for cell in row] for row in rows
    ]
    return format_markdown(header, shown)
