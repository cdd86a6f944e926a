"""Writes the results of all steps on one page, `page.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import typer

from workshop.benchmarks.first_light.steps import StepResult
from workshop.reporting.files import explain_write_errors
from workshop.reporting.tables import format_markdown

SETTINGS = "settings"
"""The beginning of the names of the steps that measure a server in one way each."""


def write_page(results: Mapping[str, StepResult], failed: Sequence[str], out: Path) -> bool:
    """Write the page, and return whether every step was done and found nothing wrong."""
    wrong = [f"{name}: {fault}" for name, step in results.items() for fault in step.wrong]
    wrong += [f"{name}: the step failed" for name in failed]
    text = "\n\n".join(_write(results, wrong)) + "\n"
    with explain_write_errors(out):
        (out / "page.md").write_text(text, encoding="utf-8")
    typer.echo(text)
    return not wrong


def _write(results: Mapping[str, StepResult], wrong: Sequence[str]) -> Iterator[str]:
    yield "# First light of a GPU"
    yield "\n".join(f"- {fault}" for fault in wrong) or "Nothing is wrong."
    for step in results.values():
        yield f"## {step.title}"
        yield format_markdown(step.header, step.rows)
