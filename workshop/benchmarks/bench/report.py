"""Runs one benchmark, from the pictures to the report, its text and its diagrams."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.contract import STAGES
from orchestrator.networks.registry import NETWORKS
from workshop.benchmarks.bench.metrics import ModelTimes
from workshop.benchmarks.bench.plan import HTTP_ENCODED, IN_PROCESS, Conditions, Plan, list_keys
from workshop.benchmarks.bench.pooling import CellFigures, Ratio, find_ratios, sum_up
from workshop.benchmarks.bench.server import ServerFacts
from workshop.benchmarks.bench.session import Results, measure
from workshop.benchmarks.pictures import Picture, prepare_pictures
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import Machine, describe_machine
from workshop.reporting.plots import double_x, open_figure, scale_y
from workshop.reporting.tables import Cell, format_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PictureFacts:
    """A picture that was sent; `plates` is their number, or None when it is not known."""

    name: str
    width_px: int
    height_px: int
    encoded_bytes: int
    raw_bytes: int
    sha256: str
    plates: int | None


@dataclass(frozen=True)
class BenchReport:
    """The report of a run."""

    date: str
    machine: Machine
    conditions: Conditions
    server: ServerFacts | None
    rounds_done: int
    ended_early: str
    pictures: tuple[PictureFacts, ...]
    ratios: tuple[Ratio, ...]
    cells: tuple[CellFigures, ...]
    notes: tuple[str, ...]

    @property
    def has_failed(self) -> bool:
        return bool(self.ended_early) or any(cell.load.errors for cell in self.cells)


def write_up(plan: Plan, pictures: Sequence[Picture], results: Results) -> BenchReport:
    """Return the report of a run."""
    cells = [
        sum_up(key, results.rounds[key])
        for key in list_keys(plan, [picture.name for picture in pictures])
        if key in results.rounds
    ]
    server = results.server
    return BenchReport(
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=describe_machine(server.version if server else ""),
        conditions=plan.conditions,
        server=server,
        rounds_done=results.rounds_done,
        ended_early=results.end_reason,
        pictures=tuple(map(describe_picture, pictures)),
        ratios=find_ratios(cells),
        cells=tuple(cells),
        notes=tuple(find_notes(plan, pictures, cells, results.end_reason)),
    )


def find_notes(
    plan: Plan, pictures: Sequence[Picture], cells: Sequence[CellFigures], end_reason: str
) -> Iterator[str]:
    """Yield the notes that a reader of the tables needs."""
    if end_reason:
        yield f"the run ended early: {end_reason}"
    for name, plates in ((picture.name, picture.plates) for picture in pictures):
        counts = {cell.plates for cell in cells if cell.key.picture == name}
        numbers = sorted(count for count in counts if count is not None)
        if plates is not None and set(numbers) - {plates}:
            yield f"{name}: drawn with {plates}, answers had {' or '.join(map(str, numbers))}"
    for cell in cells:
        if cell.load.errors:
            yield f"{cell.key}: {cell.load.errors} errors, the first: {cell.load.first_error}"
    if plan.address:
        yield "CPU and memory of a server that was not started here are not measured"
        if not plan.address.metrics:
            yield "stages are not known without --metrics-url"


def describe_picture(picture: Picture) -> PictureFacts:
    """Return the facts about a picture for a report."""
    height, width = picture.bgr.shape[:2]
    return PictureFacts(
        name=picture.name,
        width_px=width,
        height_px=height,
        encoded_bytes=len(picture.file_bytes),
        raw_bytes=picture.bgr.nbytes,
        sha256=hashlib.sha256(picture.file_bytes).hexdigest(),
        plates=picture.plates,
    )


STAGED = (1, 4)
"""The numbers of calls at once with printed stages; `report.json` has all."""
MB = 1e6


def format_report(report: BenchReport) -> str:
    """Return the text that is printed about a run."""
    parts = (
        _head(report),
        _ratios(report.ratios),
        _cells(report),
        _stages(report.cells),
        _networks(report.cells),
        "\n".join(report.notes),
    )
    return "\n\n".join(filter(None, parts))


def _format_rows(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table, or an empty text without rows."""
    lines = [*rows]
    return format_table(header, lines) if lines else ""


def _head(report: BenchReport) -> str:
    machine = report.machine
    gpu = f", {machine.gpu}" if machine.gpu else ""
    versions = {"Triton": machine.triton, **machine.packages}
    software = [
        f"{name} {versions[name]}" for name in ("Triton", "torch", "openvino") if versions.get(name)
    ]
    engine = [report.server.engine] if report.server and report.server.engine else []
    return (
        f"{machine.cores} cores, {machine.cpu}{gpu}; {', '.join([*software, *engine])}\n"
        f"{report.rounds_done} of {report.conditions.rounds} rounds, "
        f"{report.conditions.seconds:g} s for each cell; x4: four calls at once"
    )


def _ratios(ratios: Sequence[Ratio]) -> str:
    pictures = list(dict.fromkeys(ratio.picture for ratio in ratios))
    values = {(ratio.title, ratio.concurrency, ratio.picture): ratio.value for ratio in ratios}
    return _format_rows(
        ("ratios", *pictures),
        (
            (f"{title}, x{count}", *(values.get((title, count, picture)) for picture in pictures))
            for title in dict.fromkeys(ratio.title for ratio in ratios)
            for count in sorted({ratio.concurrency for ratio in ratios if ratio.title == title})
        ),
    )


def _cells(report: BenchReport) -> str:
    header = (
        "picture", "transport", "", "found", "calls", "errors", "refused", "pictures/s",
        "p50 ms", "p99 ms", "CPU ms", "cores", "client ms", "MB", "shm MB",
    )  # fmt: skip
    return _format_rows(header, map(_cell, report.cells))


def _place(cell: CellFigures) -> tuple[str, str, str]:
    return cell.key.picture, cell.key.transport, f"x{cell.key.concurrency}"


def _cell(cell: CellFigures) -> tuple[str | float | None, ...]:
    load, sizes = cell.load, (cell.peaks.memory_bytes, cell.peaks.shm_bytes)
    cpu = (load.cpu_ms.server, load.cores, load.cpu_ms.client)
    times = (load.throughput, load.p50_ms, load.p99_ms, *cpu)
    counts = (cell.plates, load.calls, load.errors, load.refused)
    return (
        *_place(cell),
        *counts,
        *times,
        *(None if size is None else size / MB for size in sizes),
    )


def _shown(cells: Sequence[CellFigures]) -> list[CellFigures]:
    """Return the cells with printed stages: `http-encoded`, or else the first served transport."""
    transports = [cell.key.transport for cell in cells if cell.key.transport != IN_PROCESS]
    transport = HTTP_ENCODED if HTTP_ENCODED in transports else next(iter(transports), "")
    return [
        cell
        for cell in cells
        if cell.key.transport in (transport, IN_PROCESS) and cell.key.concurrency in STAGED
    ]


def _stages(cells: Sequence[CellFigures]) -> str:
    return _format_rows(
        ("stages, ms a picture", "", "", *STAGES, "all"),
        (
            (*_place(cell), *(times[name] for name in STAGES), sum(times.values()))
            for cell in _shown(cells)
            if cell.inside and (times := cell.inside.stages_ms)
        ),
    )


def _networks(cells: Sequence[CellFigures]) -> str:
    columns = [column for name in NETWORKS for column in (f"{name} queue", "run", "batch")]
    return _format_rows(
        ("served, ms a picture", "", "", "queue", "run", *columns),
        (
            (*_place(cell), *_times(cell.inside.whole, cell.inside.networks))
            for cell in _shown(cells)
            if cell.inside and cell.inside.whole
        ),
    )


def _times(whole: ModelTimes, networks: Mapping[str, ModelTimes]) -> Iterator[float | None]:
    yield from (whole.queue_ms, whole.compute_ms)
    for model in (networks[name] for name in NETWORKS):
        yield from (model.queue_ms, model.compute_ms, model.batch if model.calls else None)


COLOURS = (
    "#5b9bd5", "#1f4e79", "#548235", "#bf9000", "#c0504d", "#7030a0", "#404040", "#00b0a0",
)  # fmt: skip
"""The colours of the ways, in the order of the grid."""


def run(plan: Plan) -> tuple[BenchReport, str]:
    """Measure and write the report; return the report, and its text."""
    pictures = prepare_pictures(plan.files, plan.plates)
    prepare_folder(plan.out)
    report = write_up(plan, pictures, measure(plan, pictures))
    text = format_report(report)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "report.json")
        (plan.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        if report.cells:
            draw(report.cells, plan.out / "bench.png")
    return report, text


def draw(cells: Sequence[CellFigures], path: Path) -> None:
    """Draw a row for each picture: throughput on the left, p50 and p99 on the right."""
    pictures = list(dict.fromkeys(cell.key.picture for cell in cells))
    ways = list(dict.fromkeys(cell.key.transport for cell in cells))
    colours = {way: COLOURS[index % len(COLOURS)] for index, way in enumerate(ways)}
    with open_figure(path, len(pictures), 2) as diagrams:
        for name, left, right in zip(pictures, diagrams[::2], diagrams[1::2], strict=True):
            of_picture = [cell for cell in cells if cell.key.picture == name]
            _draw_row(left, right, of_picture, colours)


def _draw_row(
    left: Axes, right: Axes, cells: Sequence[CellFigures], colours: Mapping[str, str]
) -> None:
    picture = cells[0].key.picture
    left.set(title=f"{picture}: throughput", xlabel="calls at once", ylabel="pictures/s")
    right.set(title=f"{picture}: p50 solid, p99 dashed", xlabel="calls at once", ylabel="ms")
    for way, colour in colours.items():
        mine = sorted(
            (cell for cell in cells if cell.key.transport == way and cell.load.calls),
            key=lambda cell: cell.key.concurrency,
        )
        if not mine:  # zeros would spoil a logarithmic axis
            continue
        x = [cell.key.concurrency for cell in mine]
        left.plot(x, [cell.load.throughput for cell in mine], "o-", color=colour, label=way)
        right.plot(x, [cell.load.p50_ms or 0.0 for cell in mine], "o-", color=colour, label=way)
        right.plot(x, [cell.load.p99_ms or 0.0 for cell in mine], "--", color=colour)
    for axes in (left, right):
        double_x(axes, sorted({cell.key.concurrency for cell in cells}))
    left.set_ylim(0)
    scale_y(right)
