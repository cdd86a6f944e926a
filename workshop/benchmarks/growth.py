"""`python -m workshop.benchmarks.growth`: pictures a second by cores, by plates and by size.

For each number of cores a service of its own runs on the first cores, behind its gateway. It gets
files of the same street with ever more plates, then one with four plates in ever more pixels. Of
the CPU time that both lines take, a slope is fitted: the cost of a plate, and of a megapixel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer

from workshop.benchmarks.bench.plan import HTTP_ENCODED
from workshop.benchmarks.bench.transports import connect
from workshop.benchmarks.load.rounds import Cpu, measure_round
from workshop.benchmarks.pictures import Picture, encode, render
from workshop.benchmarks.processes import find_tree, read_cpu_s
from workshop.benchmarks.service import Launch, Service, run_service
from workshop.reporting.files import explain_write_errors, prepare_folder
from workshop.reporting.plots import open_figure

PLATES = (0, 1, 2, 5, 10, 20, 50, 100)
WIDTHS = (640, 960, 1280, 2000, 2828, 4000, 5656, 8000)
"""The widths of a picture with `FEW` plates, at 4:3: 0.3 to 48 megapixels."""
FEW, CALLERS = 4, 4
COLOURS = ("#5b9bd5", "#1f4e79", "#548235", "#bf9000", "#c0504d")
BY_PLATES, BY_SIZE = "plates", "megapixels"


@dataclass(frozen=True)
class Point:
    """The speed for one picture.

    Attributes:
        axis: What grows: `plates` or `megapixels`; `x` is how many there are.
        cpu_ms: The CPU time of all the service's processes for one picture.
    """

    cores: int
    axis: str
    x: float
    found: int | None
    pictures_s: float
    p50_ms: float
    cpu_ms: float


def prepare_pictures() -> Iterator[tuple[str, float, Picture]]:
    """Yield what grows, how much there is of it, and the picture."""
    for count in PLATES:
        yield BY_PLATES, count, render(count)
    street = render(FEW).bgr
    for width in WIDTHS:
        size_wh = (width, width * 3 // 4)
        larger = np.asarray(cv2.resize(street, size_wh, interpolation=cv2.INTER_CUBIC), np.uint8)
        yield BY_SIZE, size_wh[0] * size_wh[1] / 1e6, encode(f"{width} px", larger)


def measure_point(service: Service, picture: Picture, seconds: float) -> Mapping[str, float | None]:
    """Measure one picture, sent by `CALLERS` callers at once."""
    pids = find_tree(service.pid)
    result = measure_round(
        partial(connect, HTTP_ENCODED, picture, service.gateway),
        CALLERS,
        seconds,
        usage=lambda: Cpu(read_cpu_s(pids)),
    )
    if result.errors or result.unanswered:
        raise typer.BadParameter(f"{picture.name}: wanted answers, got {result.first_error}")
    call_count = len(result.latencies_ms)
    return {
        "found": result.plates,
        "pictures_s": result.throughput,
        "p50_ms": float(np.median(result.latencies_ms)),
        "cpu_ms": 1e3 * (result.cpu_s.server or 0.0) / call_count,
    }


def measure(counts: Sequence[int], seconds: float) -> Iterator[Point]:
    """Start a service for each number of cores, and yield a point for each picture."""
    pictures = list(prepare_pictures())
    for cores in counts:
        launch = Launch(prefix=("taskset", "-c", f"0-{cores - 1}"))
        with run_service(launch) as service:
            for axis, x, picture in pictures:
                point = Point(cores, axis, x, **measure_point(service, picture, seconds))  # type: ignore[arg-type]
                typer.echo(show(point), err=True)
                yield point


def show(point: Point) -> str:
    """Return the line of a point in the table."""
    return (
        f"{point.cores} cores {point.x:6.4g} {point.axis:10} found {point.found:3} "
        f"{point.pictures_s:6.1f} pictures/s  p50 {point.p50_ms:6.0f} ms  "
        f"CPU {point.cpu_ms:6.1f} ms"
    )


def fit_slope(points: Sequence[Point], axis: str) -> float:
    """Return the CPU milliseconds of one more plate or megapixel, by least squares."""
    line = [(point.x, point.cpu_ms) for point in points if point.axis == axis]
    x, y = np.array(line).T
    return float(np.polyfit(x, y, 1)[0])


def draw(points: Sequence[Point], path: Path) -> None:
    """Draw pictures a second and CPU time over what grows, a curve for each number of cores."""
    counts = sorted({point.cores for point in points})
    with open_figure(path, 2, 2) as diagrams:
        for axis, (speed, cost) in ((BY_PLATES, diagrams[:2]), (BY_SIZE, diagrams[2:])):
            for cores, colour in zip(counts, COLOURS, strict=False):
                line = [point for point in points if point.axis == axis and point.cores == cores]
                x, name = [point.x for point in line], f"{cores} core{'s' * (cores > 1)}"
                speed.plot(x, [point.pictures_s for point in line], "o-", color=colour, label=name)
                cost.plot(x, [point.cpu_ms for point in line], "o-", color=colour, label=name)
            speed.set(title="speed", xlabel=axis, ylabel="pictures/s", ylim=(0, None))
            cost.set(title="cost", xlabel=axis, ylabel="CPU ms a picture", ylim=(0, None))


def main(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("reports/growth"),
    seconds: Annotated[float, typer.Option(min=0.5, help="Load for each picture.")] = 6.0,
    cores: Annotated[str, typer.Option(help="Numbers of cores, such as 1,2.")] = "",
) -> None:
    """Measure how the speed grows, and what a plate and a megapixel cost."""
    core_count = len(os.sched_getaffinity(0))
    counts = (
        [int(number) for number in cores.split(",")]
        if cores
        else sorted({1, (core_count + 1) // 2, core_count})
    )
    prepare_folder(out)
    points = list(measure(counts, seconds))
    whole = [point for point in points if point.cores == counts[-1]]
    slopes = {axis: fit_slope(whole, axis) for axis in (BY_PLATES, BY_SIZE)}
    with explain_write_errors(out):
        report = {"points": [asdict(point) for point in points], "cpu_ms_of_one_more": slopes}
        (out / "growth.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        draw(points, out / "growth.png")
    typer.echo("\n".join(map(show, points)))
    for axis, slope in slopes.items():
        typer.echo(f"one more of the {axis}: {slope:.2f} ms of a core")


if __name__ == "__main__":
    typer.run(main)
