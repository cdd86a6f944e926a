"""The command `plates evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import SearchOptions, ThreadsOption, VerboseOption, show_errors
from orchestrator.host.distribution import check_packages
from orchestrator.host.option_fields import expand
from orchestrator.networks.options import NetworkOptions

# Everything heavy is imported when the command runs, so that --help is quick.


@expand
def evaluate(
    scenes: Annotated[
        Path | None,
        typer.Argument(help="Folder of pictures whose texts are known: images/, labels.csv."),
    ] = None,
    *,
    detection: Annotated[
        Path | None, typer.Option(help="YOLO data set with images/SPLIT and labels/SPLIT.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of the data set.")] = "val",
    ignore: Annotated[
        Path | None,
        typer.Option(help="CSV of plates without a label; default: ignore.csv of the data set."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("reports/evaluation"),
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of this report in comparisons; default: the folder of the weights."
        ),
    ] = None,
    against: Annotated[
        list[Path] | None, typer.Option(help="Other report.json to compare with; repeatable.")
    ] = None,
    conditions: Annotated[
        bool,
        typer.Option("--conditions", help="Read SCENES far, turned, dark, smeared ..., too."),
    ] = False,
    every: Annotated[
        int, typer.Option(min=1, help="12: only each twelfth picture of each data set.")
    ] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first pictures of each data set.")
    ] = None,
    yolo: Annotated[Path | None, typer.Option(help="Another detector's checkpoint.")] = None,
    stn: Annotated[Path | None, typer.Option(help="Another STN's checkpoint.")] = None,
    lprnet: Annotated[Path | None, typer.Option(help="Another LPRNet's checkpoint.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Use a running server: host:port or grpc://host:port.")
    ] = None,
    search: SearchOptions,
    changed: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE of another setting, in this process; repeatable."),
    ] = None,
    networks: NetworkOptions,
    threads: ThreadsOption = 0,
    verbose: VerboseOption = False,
) -> None:
    """Measure detection and reading on labelled pictures, in this process or by a running server.

    SCENES is a folder with images/ and labels.csv; docs/evaluation.md describes both kinds of data.
    """
    with show_errors(verbose=verbose):
        check_packages("torch", "matplotlib")
        from workshop.evaluation.datasets import Selection
        from workshop.evaluation.recognizers import RecognizerOptions, parse_assignments
        from workshop.evaluation.run import Task, run

        checkpoints = {"yolo": yolo, "stn": stn, "lprnet": lprnet}
        options = RecognizerOptions(
            url=url,
            **vars(networks),
            checkpoints={key: path for key, path in checkpoints.items() if path},
            threads=threads,
            parameters=search.parameters,
            other_settings=parse_assignments(changed or []),
        )
        task = Task(
            scenes=scenes,
            detection=detection,
            split=split,
            ignore=ignore,
            out=out,
            name=name or options.name,
            against=tuple(against or ()),
            selection=Selection(every, limit),
            conditions=conditions,
        )
        typer.echo(run(task, options))
        typer.echo(f"\nreport in {out}", err=True)
