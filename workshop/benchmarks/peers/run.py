"""Runs one comparison, from the pictures to the report."""

from __future__ import annotations

from workshop.benchmarks.peers.measurement import measure
from workshop.benchmarks.peers.report import PeersReport, write_up
from workshop.benchmarks.peers.tables import format_tables
from workshop.benchmarks.pictures import prepare_pictures
from workshop.benchmarks.plan import Plan
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report


def run_peers(plan: Plan) -> tuple[PeersReport, str]:
    """Measure all servers and write `peers.json` and `peers.md`; return the report and its text."""
    pictures = prepare_pictures(plan.files, plan.plates)
    prepare_folder(plan.out)
    report = write_up(plan, pictures, measure(plan, pictures))
    text = format_tables(report)
    with explain_write_errors(plan.out):
        write_report(report, plan.out / "peers.json")
        (plan.out / "peers.md").write_text(text, encoding="utf-8")
    return report, text
