"""Formats the comparison as Markdown tables, which are readable without rendering."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from workshop.benchmarks.compositions.figures import CellFigures, CompositionsReport, Memory
from workshop.benchmarks.compositions.spending import SERVER, Spent, add_up
from workshop.benchmarks.compositions.workloads import Form, Workload
from workshop.benchmarks.pooling import divide_by_round
from workshop.reporting.tables import format_figure, format_markdown

MB = 1e6
Row = Sequence[str | float | int | None]


def format_tables(report: CompositionsReport, workloads: Iterable[Workload]) -> str:
    """Return every table of a run."""
    parts = [_head(report)]
    for workload in workloads:
        cells = [one for one in report.cells if one.workload == workload.name]
        if cells:
            parts += [f"### {workload.name}\n", *_tables(workload, cells, report)]
    return "\n".join(parts)


def _head(report: CompositionsReport) -> str:
    machine = report.machine
    others = median(one.others for one in report.cells)
    return (
        f"{report.date}: {machine.cores} cores, {machine.cpu}; Triton {machine.triton}; "
        f"{report.rounds} rounds of {report.seconds:g} s a cell; other programs used "
        f"{max(others, 0.0):.2f} cores meanwhile (median of the cells).\n"
    )


def _tables(
    workload: Workload, cells: Sequence[CellFigures], report: CompositionsReport
) -> Iterator[str]:
    counts = sorted({one.cell.concurrency for one in cells})
    instances = sorted({one.cell.instances for one in cells})
    forms = {form.name: form for form in workload.forms}
    yield _format(("picture", "form", "instances", *_speed_header(counts)), _speeds(cells, counts))
    first = workload.forms[0].name
    yield _format(
        ("picture", f"pictures/s to {first}", "instances", *(f"x{n}" for n in counts)),
        _ratios(cells, counts, first),
    )
    middle = [one for one in cells if one.cell.instances == instances[len(instances) // 2]]
    ends = [one for one in middle if one.cell.concurrency in {counts[0], counts[-1]}]
    yield _format(
        ("picture", "form", "calls", "hops", "shm MB", "CPU ms", "server", "Python", "networks",
         "in kernel", "waits", "preempted", "faults", "queue ms", "run ms", "p50 ms", "idle %"),
        (_reasons(one, forms[one.cell.form]) for one in ends),
    )  # fmt: skip
    yield _format(
        ("picture", "form", "model", "calls", "together", *_times_header(counts)),
        _models([one for one in middle if one.cell.concurrency == counts[0]], ends),
    )
    yield _format(
        ("models", "instances", "processes", "MB", "MB an instance"),
        (_weight(one) for one in report.memory if one.workload == workload.name),
    )


def _weight(one: Memory) -> Row:
    mb = one.memory_bytes / MB
    return (one.models, one.instances, one.processes, mb, mb / one.instances)


def _format(header: Sequence[str], rows: Iterable[Row]) -> str:
    shown = [
        [format_figure(cell) if isinstance(cell, float) else cell for cell in row] for row in rows
    ]
    return format_markdown(header, shown)


def _speed_header(counts: Iterable[int]) -> Iterator[str]:
    for count in counts:
        yield from (f"x{count} /s", "p50 ms")


def _speeds(cells: Sequence[CellFigures], counts: Sequence[int]) -> Iterator[Row]:
    for (picture, form, instances), row in _by_concurrency(cells).items():
        figures = (
            figure for n in counts for figure in (row[n].load.throughput, row[n].load.p50_ms)
        )
        yield (picture, form, instances, *figures)


def _ratios(cells: Sequence[CellFigures], counts: Sequence[int], first: str) -> Iterator[Row]:
    rows = _by_concurrency(cells)
    for (picture, form, instances), row in rows.items():
        if form != first:
            base = rows[picture, first, instances]
            ratios = (
                divide_by_round(row[n].load, base[n].load, lambda one: one.throughput)
                for n in counts
            )
            yield (picture, form, instances, *ratios)


def _by_concurrency(
    cells: Sequence[CellFigures],
) -> dict[tuple[str, str, int], dict[int, CellFigures]]:
    rows: dict[tuple[str, str, int], dict[int, CellFigures]] = {}
    for one in sorted(cells, key=lambda one: one.cell.picture != "small"):
        key = (one.cell.picture, one.cell.form, one.cell.instances)
        rows.setdefault(key, {})[one.cell.concurrency] = one
    return rows


def _reasons(one: CellFigures, form: Form) -> Row:
    parts = {SERVER: (SERVER,), "Python": form.python, "networks": form.networks}
    spent = [add_up(one.spent[name] for name in names) for names in parts.values()]
    whole = add_up(spent)
    workers = [one.models[name] for name in form.workers]
    return (
        one.cell.picture, one.cell.form, f"x{one.cell.concurrency}",
        one.hops, one.shm_bytes / MB, 1e3 * whole.cpu_s, *(_ms(part) for part in spent),
        1e3 * whole.system_s, whole.waits, whole.preemptions, whole.faults,
        sum(model.queue_ms for model in workers), _run_ms(one, form), one.load.p50_ms,
        100 * one.idle,
    )  # fmt: skip


def _ms(spent: Spent) -> float | None:
    return 1e3 * spent.cpu_s or None


def _run_ms(one: CellFigures, form: Form) -> float:
    """Return the work time of a form's models; a BLS model's time includes that of its children."""
    if form.is_calling:
        return one.models[form.model].compute_ms
    return sum(one.models[name].compute_ms for name in form.workers)


def _times_header(counts: Sequence[int]) -> Iterator[str]:
    for count in (counts[0], counts[-1]):
        yield from (f"x{count} queue ms", "run ms", "CPU ms")


def _models(few: Sequence[CellFigures], all_: Sequence[CellFigures]) -> Iterator[Row]:
    """Yield a row for each model, with few calls at once and with many."""
    for one in few:
        most = [
            other
            for other in all_
            if (other.cell.form, other.cell.picture) == (one.cell.form, one.cell.picture)
        ][-1]
        for name in one.models:
            if name in one.spent:
                busy, times = most.models[name], (*_times(one, name), *_times(most, name))
                yield (one.cell.picture, one.cell.form, name, busy.calls, busy.batch, *times)


def _times(one: CellFigures, name: str) -> tuple[float, float, float]:
    times = one.models[name]
    return times.queue_ms, times.compute_ms, 1e3 * one.spent[name].cpu_s
