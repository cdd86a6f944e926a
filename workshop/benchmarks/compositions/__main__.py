"""The command `python -m workshop.benchmarks.compositions`."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from workshop.benchmarks.compositions.measurement import Plan, Results, measure
from workshop.benchmarks.compositions.tables import CompositionsReport, format_tables
from workshop.benchmarks.compositions.workloads import WORKLOADS
from workshop.benchmarks.plan import check_names, parse_numbers
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine

app = typer.Typer(add_completion=False)


@app.command()
def main(
    *,
    workload: Annotated[
        list[str] | None, typer.Option(help="plates or ocr; repeatable; default: both.")
    ] = None,
    instances: Annotated[str, typer.Option(help="Of each Python model.")] = "1,2,4",
    concurrency: Annotated[str, typer.Option(help="Calls at once.")] = "1,2,4,8",
    seconds: Annotated[float, typer.Option(help="Of each cell in each round.")] = 0.7,
    rounds: Annotated[int, typer.Option(help="How often everything is measured.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path(
        "reports/compositions"
    ),
) -> None:
    """Measure the speed and memory of the same work composed in several ways.

    docs/why/compositions.md explains every column.
    """
    with show_errors(verbose=False):
        chosen = workload or list(WORKLOADS)
        check_names("workload", chosen, tuple(WORKLOADS))
        plan = Plan(
            instances=parse_numbers(instances, "instances"),
            concurrencies=parse_numbers(concurrency, "concurrency"),
            seconds=seconds,
            rounds=rounds,
        )
        prepare_folder(out)
        results = Results()
        for name in chosen:
            measure(WORKLOADS[name], plan, results)
        report = _write_up(plan, results)
        text = format_tables(report)
        with explain_write_errors(out):
            write_report(report, out / "report.json")
            (out / "tables.md").write_text(text, encoding="utf-8")
        typer.echo(text)


def _write_up(plan: Plan, results: Results) -> CompositionsReport:
    return CompositionsReport(
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=describe_machine(results.triton),
        seconds=plan.seconds,
        rounds=plan.rounds,
        cells=tuple(results.cells),
        memory=tuple(results.memory),
    )


if __name__ == "__main__":
    app()
