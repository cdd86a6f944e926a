"""Writes the files of a run: its samples as a table, and its figures in a page of the docs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from workshop.benchmarks.soak.command import Plan
from workshop.benchmarks.soak.report import SoakReport, list_roles
from workshop.benchmarks.soak.samples import Held, Sample
from workshop.benchmarks.soak.text import format_section
from workshop.reporting.files import explain_write_errors
from workshop.reporting.pages import write_part

PAGE = "soak.md"
"""The page that is written, in the folder of the published plot."""


def write_samples(samples: Sequence[Sample], path: Path) -> None:
    """Write one line per sample. Column `memory_mb gateway` is the memory of the gateway."""
    roles = list_roles(samples)
    rows = [
        {
            "seconds": sample.seconds,
            "calls": sample.calls.ended,
            **asdict(sample.calls),
            "shm_mb": sample.shm_mb,
            "files": sample.files,
            **{
                f"{name} {role}": value
                for role in roles
                for name, value in asdict(sample.roles.get(role, Held())).items()
            },
        }
        for sample in samples
    ]
    pd.DataFrame(rows).round(3).to_csv(path, index=False)


def publish(report: SoakReport, plan: Plan) -> None:
    """Write the figures into their part of the page beside the plot, and copy the plot.

    Raises:
        DataError: The page has no part that bears the plot's name, or cannot be written.
    """
    assert plan.publish is not None
    section = f"![{plan.length}]({plan.publish.name})\n\n{format_section(report, plan.length)}"
    write_part(plan.publish.with_name(PAGE), plan.publish.stem, section)
    with explain_write_errors(plan.publish.parent):
        shutil.copyfile(plan.out / "soak.png", plan.publish)
