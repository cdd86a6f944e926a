"""`python -m workshop.benchmarks.commits BASE`: compares two commits in one run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from orchestrator.host.toml_files import check_range
from workshop.benchmarks.bench.plan import parse_numbers
from workshop.benchmarks.commits.accuracy import (
    BASE,
    HEAD,
    RENDERED,
    LabelledSet,
    read_set,
    render_set,
)
from workshop.benchmarks.commits.measurement import Plan, Results, Sample, measure, run_pair
from workshop.benchmarks.commits.report import CommitReport, find_figures
from workshop.benchmarks.commits.text import format_report
from workshop.benchmarks.commits.worktrees import (
    LOCK,
    Commit,
    Repository,
    check_imports,
    choose_variables,
)
from workshop.benchmarks.pictures import Picture, read, render
from workshop.reporting.files import explain_write_errors, prepare_folder, write_report
from workshop.reporting.machine import describe_machine

Commits = Mapping[str, Commit]


@dataclass(frozen=True)
class Labels:
    """The labelled pictures of a run.

    Attributes:
        rendered: The number of rendered pictures; 0: none.
    """

    rendered: int
    seed: int
    folders: tuple[Path, ...] = ()

    def read(self, rendered_sets: Path) -> tuple[LabelledSet, ...]:
        """Return the labelled sets; the rendered one is kept for later runs.

        Args:
            rendered_sets: The folder for rendered sets.

        Raises:
            DataError: A folder has no valid labels, or cannot be written.
        """
        of_folders = tuple(
            read_set(folder_of_set) for folder_of_set in self.folders
        )  # errors come before the rendering
        if not self.rendered:
            return of_folders
        folder = rendered_sets / f"rendered-{self.rendered}-{self.seed}"
        if not folder.exists():
            typer.echo(f"rendering {self.rendered} pictures into {folder} ...", err=True)
            with explain_write_errors(rendered_sets):
                render_set(folder, self.rendered, self.seed)
        return (replace(read_set(folder), name=RENDERED), *of_folders)


def run(
    plan: Plan,
    labels: Labels,
    commits: Commits,
    options: Sequence[str],
    out: Path,
    repository: Repository = Repository(),  # noqa: B008  # frozen
) -> tuple[CommitReport, str]:
    """Measure and write the report; return the report, and its text.

    Args:
        plan: The plan; its labelled sets come from `labels`.
        labels: The labelled pictures.
        commits: The commit of each side.
        options: Further options of `plates serve`, for both.
        out: The folder of the report.
        repository: The repository of the commits.
    """
    prepare_folder(out)
    plan = replace(plan, sets=labels.read(out))
    results = _measure(plan, repository, commits, options, out)
    report = _write_up(commits, plan, results, options, [*describe_commits(repository, commits)])
    text = format_report(report)
    with explain_write_errors(out):
        write_report(report, out / "report.json")
        (out / "report.md").write_text(text, encoding="utf-8")
    return report, text


def _measure(
    plan: Plan, repository: Repository, commits: Commits, options: Sequence[str], out: Path
) -> Results:
    """Check both commits out, and measure them."""
    with tempfile.TemporaryDirectory(prefix="plates-commits-") as folder, ExitStack() as stack:
        trees = {}
        for side, commit in commits.items():
            checked_out = repository.check_out(commit, Path(folder, side))
            trees[side] = tree = stack.enter_context(checked_out)
            check_imports(tree, {**os.environ, **choose_variables(tree)})
        return measure(
            plan, lambda sides: run_pair({side: trees[side] for side in sides}, options, out)
        )


def describe_commits(repository: Repository, commits: Commits) -> Iterator[str]:
    """Yield the notes for readers about the commits and this checkout."""
    for side, commit in commits.items():
        if repository.has_other_lock(commit):
            yield (
                f"**{LOCK}** of the {side} differs from this checkout's; the {side} ran with this "
                "checkout's packages, not with its own"
            )
    if repository.has_changes():
        yield "this checkout has changes that are in no commit; they were not measured"


def compare_plates(samples: Sequence[Sample], pictures: Sequence[Picture]) -> Iterator[str]:
    """Yield each picture of the load in which a commit finds another number of plates."""
    for picture in pictures:
        plates_by_side = {
            (sample.side, sample.plates) for sample in samples if sample.picture == picture.name
        }
        counts = {count for _, count in plates_by_side} | ({picture.plates} - {None})
        if len(counts) > 1:
            counts_by_side = ", ".join(
                f"{side} {count}" for side, count in sorted(plates_by_side, key=str)
            )
            yield f"{picture.name}: plates found: {counts_by_side}"


def _write_up(
    commits: Commits, plan: Plan, results: Results, options: Sequence[str], notes: Sequence[str]
) -> CommitReport:
    samples = results.samples
    errors = sum(sample.errors for sample in samples)
    first_error = next((sample.first_error for sample in samples if sample.first_error), "")
    failures = (f"**{errors} calls failed**; the first: {first_error}",) if errors else ()
    base, head = commits.values()
    return CommitReport(
        date=f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        base=base,
        head=head,
        machine=describe_machine(),
        rounds=len({sample.round for sample in samples}),
        seconds=plan.seconds,
        options=tuple(options),
        figures=find_figures(samples),
        accuracy=tuple(results.accuracy),
        samples=tuple(samples),
        notes=(*notes, *compare_plates(samples, [*plan.pictures.values()]), *failures),
        errors=errors,
        ended=results.end_reason,
    )


app = typer.Typer(add_completion=False)


@app.command()
def main(
    base: Annotated[str, typer.Argument(help="Commit to compare with, for example main~1.")],
    *,
    head: Annotated[str, typer.Option(help="Commit to judge.")] = "HEAD",
    plates: Annotated[
        str, typer.Option(help="Numbers of plates of the rendered pictures.")
    ] = "0,4",
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
