"""`python -m workshop.benchmarks.commits BASE`: compares two commits in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from orchestrator.host.toml_files import check_range
from workshop.benchmarks.bench.plan import parse_numbers
from workshop.benchmarks.commits.accuracy import BASE, HEAD
from workshop.benchmarks.commits.measurement import Plan
from workshop.benchmarks.commits.run import Labels, run
from workshop.benchmarks.commits.worktrees import Repository
from workshop.benchmarks.pictures import read, render

app = typer.Typer(add_completion=False)


@app.command()
def main(
    base: Annotated[str, typer.Argument(help="Commit to compare with, for example main~1.")],
    *,
    head: Annotated[str, typer.Option(help="Commit to judge.")] = "HEAD",
    plates: Annotated[str, typer.Option(help="Of the rendered pictures, one each.")] = "0,4",
    file: Annotated[
        list[Path] | None, typer.Option(help="A further picture of the load; repeatable.")
    ] = None,
    calls: Annotated[str, typer.Option(help="Calls at once.")] = "1,4",
    rounds: Annotated[
        int, typer.Option(help="Starts of both servers; more rounds narrow the intervals.")
    ] = 6,
    seconds: Annotated[
        float, typer.Option(help="Of each measurement; four a cell and round.")
    ] = 1.5,
    rendered: Annotated[
        int, typer.Option(help="Rendered pictures with known plates that both read; 0: none.")
    ] = 300,
    seed: Annotated[int, typer.Option(help="Of these pictures.")] = 1,
    scenes: Annotated[
        list[Path] | None,
        typer.Option(help="Folder with images/ and labels.csv that both read, too; repeatable."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Of plates serve, for both: --option=--threads=1; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("reports/commits"),
) -> None:
    """Compare speed, CPU time and accuracy of two commits; docs/benchmark.md explains it."""
    with show_errors(verbose=False):
        for name, value, most in (("rounds", rounds, 1000), ("seconds", seconds, 3600)):
            check_range(name, value, 0.1, most)
        check_range("rendered", rendered, 0, 100_000)
        repository = Repository()
        commits = {BASE: repository.find_commit(base), HEAD: repository.find_commit(head)}
        numbers = parse_numbers(plates, "plates") if plates else ()
        pictures = [*map(render, numbers), *read(file or ())]
        plan = Plan(
            pictures={picture.name: picture for picture in pictures},
            calls=parse_numbers(calls, "calls"),
            rounds=rounds,
            seconds=seconds,
        )
        labels = Labels(rendered, seed, tuple(scenes or ()))
        report, text = run(plan, labels, commits, option or (), out)
        typer.echo(text)
        typer.echo(f"report in {out}", err=True)
    raise typer.Exit(1 if report.has_failed else 0)


if __name__ == "__main__":
    app()
