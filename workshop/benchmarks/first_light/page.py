"""Writes the results of all steps on one page, `page.md`, with a diagram of the throughput."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path

import typer

from workshop.benchmarks.first_light.steps import WAYS, StepResult
from workshop.reporting.files import explain_write_errors
from workshop.reporting.plots import Diagram, Line, plot
from workshop.reporting.tables import format_markdown

SETTINGS = "settings"
"""The beginning of the names of the steps that measure a server in one way each."""
STYLES = dict(zip(WAYS.values(), ("o-", "o--", "o:", "o-."), strict=True))
COLOURS = ("#1f4e79", "#c0504d", "#4f8f4f", "#8064a2")


def write_page(results: Mapping[str, StepResult], failed: Sequence[str], out: Path) -> bool:
    """Write the page, and return whether every step was done and found nothing wrong."""
    wrong = [f"{name}: {fault}" for name, step in results.items() for fault in step.wrong]
    wrong += [f"{name}: the step failed" for name in failed]
    text = "\n\n".join(_write(results, wrong)) + "\n"
    with explain_write_errors(out):
        (out / "page.md").write_text(text, encoding="utf-8")
    settings = [step for name, step in results.items() if name.startswith(SETTINGS)]
    if settings:
        plot([[draw_throughput(settings)]], out / "throughput.png")
    typer.echo(text)
    return not wrong


def _write(results: Mapping[str, StepResult], wrong: Sequence[str]) -> Iterator[str]:
    yield "# First light of a GPU"
    yield "\n".join(f"- {fault}" for fault in wrong) or "Nothing is wrong."
    for step in results.values():
        yield f"## {step.title}"
        yield format_markdown(step.header, step.rows)
    if any(name.startswith(SETTINGS) for name in results):
        yield "![Throughput by calls at once](throughput.png)"


def draw_throughput(settings: Sequence[StepResult]) -> Diagram:
    """Draw pictures a second by calls at once.

    Each number of pictures at once has a colour, and each way to run a server a kind of line.
    """
    points_of_line: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for workers, way, calls, throughput, *_ in (row for step in settings for row in step.rows):
        points_of_line.setdefault((workers, way), []).append((float(calls), float(throughput)))
    numbers = [*dict.fromkeys(workers for workers, _ in points_of_line)]
    colours = dict(zip(numbers, cycle(COLOURS), strict=False))
    lines = [
        Line(
            [x for x, _ in points],
            [y for _, y in points],
            f"{workers} at once, {way}",
            colours[workers],
            STYLES[way],
        )
        for (workers, way), points in points_of_line.items()
    ]
    return Diagram("Throughput", "calls at once", "pictures a second", tuple(lines))
