"""Runs one benchmark, from the pictures to the report."""

from __future__ import annotations

from dataclasses import replace

from workshop.benchmarks.against import set_against
from workshop.benchmarks.diagrams import draw
from workshop.benchmarks.pictures import prepare_pictures
from workshop.benchmarks.plan import Plan
from workshop.benchmarks.report import BenchReport, write_up
from workshop.benchmarks.session import measure
from workshop.benchmarks.text import format_report
from workshop.reporting.files import explain_write_errors, prepare_folder, read_report, write_report


def run(plan: Plan) -> tuple[BenchReport, str]:
    """Measure and write the report; return the report, and its text."""
    old = read_report(BenchReport, plan.against) if plan.against else None
    pictures = prepare_pictures(plan.files, plan.plates)
    prepare_folder(plan.out)
    report = write_up(plan, pictures, measure(plan, pictures))
    if old:
        report = replace(report, against=set_against(report, old))
    text = format_report(report)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "report.json")
        (plan.out / "report.txt").write_text(text + "\n", encoding="utf-8")
        if report.cells:
            draw(report.cells, plan.out / "bench.png")
    return report, text
