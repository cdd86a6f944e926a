"""Measures all figures, and writes their file and the pages.

`python -m workshop.evaluation.publishing` is the command.

Without data, only the pages are written again, from the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from orchestrator.contract import READER, RECTIFIER
from orchestrator.errors import DataError
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import LISTED, WEIGHTS, check_listed, sha256
from workshop.evaluation.datasets import STANDARD
from workshop.evaluation.pairing import pair_reports
from workshop.evaluation.publishing.published import (
    AS_LABELLED,
    FIGURES,
    FLOAT32,
    OURS,
    PREDECESSOR,
    PREDECESSOR_ALL,
    SIDES_PX,
    TORCHSCRIPT,
    UNLABELLED,
    MeasuredOn,
    Published,
    PublishedTest,
    publish_run,
)
from workshop.evaluation.publishing.published_pages import PAGES, render
from workshop.evaluation.recognizers import RecognizerOptions
from workshop.evaluation.results import Report
from workshop.evaluation.run import Task, run
from workshop.reporting.files import prepare_folder, read_report, write_report
from workshop.reporting.machine import describe_machine


@dataclass(frozen=True)
class Sources:
    """The sources of the figures: data and weights; see docs/evaluation.md.

    Attributes:
        ancestor: The folder with the predecessor's stn.pth and lprnet.pth.
        unlabelled: The CSV of the data set's plates without a label.
    """

    scenes: Path
    detection: Path
    ancestor: Path
    reports: Path
    unlabelled: Path = UNLABELLED


@dataclass(frozen=True)
class Plan:
    """The plan of one run.

    Attributes:
        ignores: True when detection ignores the unlabelled plates.
    """

    options: RecognizerOptions
    reads: bool = True
    detects: bool = True
    ignores: bool = True
    conditions: bool = False


def plan_runs(ancestor: Path) -> dict[str, Plan]:
    """Return the plan of every published run, by name."""
    # One thread: on busy cores, more threads mostly wait for each other.
    small = RecognizerOptions(device="cpu", engine=Engine.OPENVINO_INT8, threads=1)
    floats = replace(small, engine=Engine.OPENVINO)
    theirs = replace(
        small,
        checkpoints={name: ancestor / NETWORKS[name].weights for name in (RECTIFIER, READER)},
    )
    sides = {
        str(side): Plan(replace(floats, other_settings={"detector_side_px": str(side)}))
        for side in SIDES_PX
    }
    return {
        OURS: Plan(small, conditions=True),
        FLOAT32: Plan(floats),
        TORCHSCRIPT: Plan(replace(small, engine=Engine.TORCHSCRIPT)),
        AS_LABELLED: Plan(small, reads=False, ignores=False),
        PREDECESSOR: Plan(theirs, detects=False, conditions=True),
        PREDECESSOR_ALL: Plan(replace(theirs, parameters={"text_threshold": 0.0}), detects=False),
        **sides,
    }


def measure(sources: Sources) -> Published:
    """Run every evaluation and return the figures.

    Raises:
        DataError: The data cannot be used.
        WeightsError: The weights cannot be used.
    """
    prepare_folder(sources.reports)
    plans = plan_runs(sources.ancestor)
    reports = {name: _run(name, plan, sources) for name, plan in plans.items()}
    machine = describe_machine()
    return Published(
        machine=MeasuredOn(machine.cpu, machine.cores, machine.packages),
        weights_sha256=list_weights(),
        unlabelled_sha256=sha256(sources.unlabelled),
        parameters=count_parameters(),
        runs={name: publish_run(report) for name, report in reports.items()},
        against_predecessor=_compare(reports[OURS], reports[PREDECESSOR]),
    )


def _run(name: str, plan: Plan, sources: Sources) -> Report:
    out = sources.reports / name.replace(", ", "-").replace(" ", "-")
    nothing = sources.reports / "nothing.csv"
    nothing.write_text("image,x0,y0,x1,y1\n", encoding="utf-8")
    task = Task(
        out=out,
        scenes=sources.scenes if plan.reads else None,
        detection=sources.detection if plan.detects else None,
        ignore=sources.unlabelled if plan.ignores else nothing,
        name=name,
        conditions=plan.conditions,
    )
    typer.echo(f"{name}: {run(task, plan.options).splitlines()[0]}", err=True)
    return read_report(Report, out / "report.json")


def list_weights() -> dict[str, str]:
    """Return the SHA-256 of every weight file, by its name.

    Raises:
        WeightsError: A file has another SHA-256 than SHA256SUMS lists.
    """
    files = sorted(path for path in WEIGHTS.iterdir() if LISTED.search(path.name))
    return {path.name: check_listed(path) for path in files}


def count_parameters() -> dict[str, int]:
    """Return the number of trained parameters, by network."""
    return {name: sum(tensor.numel() for tensor in load(name).parameters()) for name in NETWORKS}


def _compare(ours: Report, theirs: Report) -> PublishedTest:
    pairing = pair_reports(ours, theirs)
    tests = pairing.tests if pairing else ()
    test = next((test for test in tests if test.type == STANDARD), None)
    if test is None:
        raise DataError("scenes: wanted standard plates, got none")
    return PublishedTest(test.plates, len(test.won), len(test.lost), test.p_value)


def write_pages(figures: Published) -> None:
    """Write the figures into the pages.

    Raises:
        DataError: A page has no part for them.
    """
    for page in PAGES:
        text = render(page.read_text(encoding="utf-8"), figures)
        page.write_text(text, encoding="utf-8")


def publish(
    scenes: Annotated[Path | None, typer.Option(help="Pictures whose texts are known.")] = None,
    detection: Annotated[Path | None, typer.Option(help="YOLO data set.")] = None,
    ancestor: Annotated[
        Path | None, typer.Option(help="Folder of the predecessor's stn.pth and lprnet.pth.")
    ] = None,
    reports: Annotated[Path, typer.Option(help="Folder for the whole report of each run.")] = Path(
        "reports/published"
    ),
) -> None:
    """Measure what docs/accuracy.md and weights/README.md say; without data, write them again."""
    with show_errors(verbose=False):
        sources = [path for path in (scenes, detection, ancestor) if path]
        if scenes and detection and ancestor:
            write_report(measure(Sources(scenes, detection, ancestor, reports)), FIGURES)
        elif sources:
            raise DataError("data: wanted --scenes, --detection and --ancestor, or none of them")
        write_pages(read_report(Published, FIGURES))


app = typer.Typer()
app.command()(publish)

if __name__ == "__main__":
    app()
