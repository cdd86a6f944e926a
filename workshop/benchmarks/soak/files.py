"""Writes the files of a run: its samples as a table, and its figures in a page of the docs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from orchestrator.errors import DataError
from workshop.benchmarks.soak.command import Plan
from workshop.benchmarks.soak.report import SoakReport, list_roles
from workshop.benchmarks.soak.samples import Held, Sample
from workshop.benchmarks.soak.text import format_section
from workshop.reporting.files import explain_write_errors

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
    """Copy the plot, and write the figures into the page in the same folder."""
    assert plan.publish is not None
    page = plan.publish.with_name(PAGE)
    section = f"![{plan.length}]({plan.publish.name})\n\n{format_section(report, plan.length)}"
    with explain_write_errors(page.parent):
        text = insert(read_page(page), plan.publish.stem, section)
        shutil.copyfile(plan.out / "soak.png", plan.publish)
        page.write_text(text, encoding="utf-8")


def read_page(page: Path) -> str:
    """Return the text of a page."""
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{page}: wanted a page to publish in, got {error.strerror}") from error


def insert(page: str, name: str, section: str) -> str:
    """Put a Markdown section between the comments with its name, or at the end without them."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    whole = f"{begin}\n{section.rstrip()}\n{end}"
    place = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if place.search(page):
        return place.sub(lambda _: whole, page)
    return f"{page.rstrip()}\n\n{whole}\n"
