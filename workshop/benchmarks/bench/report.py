"""The report of a run: the conditions, the machine, the server, and every figure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from workshop.benchmarks.bench.plan import Conditions, Plan, list_keys
from workshop.benchmarks.bench.pooling import CellFigures, sum_up
from workshop.benchmarks.bench.ratios import Ratio, find_ratios
from workshop.benchmarks.bench.server import ServerFacts
from workshop.benchmarks.bench.session import Results
from workshop.benchmarks.pictures import Picture
from workshop.reporting.machine import Machine, describe_machine


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
        ended_early=results.ended,
        pictures=tuple(map(describe_picture, pictures)),
        ratios=find_ratios(cells),
        cells=tuple(cells),
        notes=tuple(find_notes(plan, pictures, cells, results.ended)),
    )


def find_notes(
    plan: Plan, pictures: Sequence[Picture], cells: Sequence[CellFigures], ended: str
) -> Iterator[str]:
    """Yield the notes that a reader of the tables needs."""
    if ended:
        yield f"the run ended early: {ended}"
    for name, plates in ((picture.name, picture.plates) for picture in pictures):
        counts = {cell.plates for cell in cells if cell.key.picture == name}
        seen = sorted(count for count in counts if count is not None)
        if plates is not None and set(seen) - {plates}:
            yield f"{name}: drawn with {plates}, answers had {' or '.join(map(str, seen))}"
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
        encoded_bytes=len(picture.encoded),
        raw_bytes=picture.bgr.nbytes,
        sha256=hashlib.sha256(picture.encoded).hexdigest(),
        plates=picture.plates,
    )
