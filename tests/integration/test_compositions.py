"""BLS model, ensemble and monolith give the same answers, and are measured side by side."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.compositions import BLS, MODELS
from benchmarks.compositions.answers import ask, differ
from benchmarks.pictures import Picture, render
from benchmarks.plan import Plan
from benchmarks.report import BenchReport
from benchmarks.server import MeasuredServer, open_server
from orchestrator.cli.app import app
from reporting.files import read_report

OTHERS = sorted(set(MODELS) - {BLS})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredServer]:
    """A server with all compositions, one picture in work of each."""
    plan = Plan(out=tmp_path_factory.mktemp("out"), targets=tuple(MODELS), pictures=1)
    with open_server(plan) as started:
        yield started


@pytest.fixture(params=[4, 0], ids=lambda count: f"{count} plates")
def picture(request: pytest.FixtureRequest) -> Picture:
    return render(request.param)


@pytest.mark.parametrize("target", OTHERS)
def test_a_composition_answers_as_the_service(
    server: MeasuredServer, target: str, picture: Picture
) -> None:
    wanted = ask(BLS, picture, server.address.http)
    assert len(wanted["texts"]) == picture.plates
    assert differ(wanted, ask(target, picture, server.address.http)) == ""


def test_compositions_are_measured_beside_the_service(tmp_path: Path) -> None:
    targets = [word for name in MODELS for word in ("--target", name)]
    small = ["--plates", "1", "--concurrency", "1", "--seconds", "0.2", "--rounds", "1"]
    command = ["bench", *targets, *small, "--pictures", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    report = read_report(BenchReport, tmp_path / "report.json")
    served = [cell for cell in report.cells if cell.key.transport == "http-encoded"]
    assert [(cell.key.target, cell.plates) for cell in served] == [(name, 1) for name in MODELS]
    assert [cell.inside.networks["yolo"].calls for cell in served] == [1, 1, 0]
    assert {one.name: one.processes for one in report.processes}.items() >= {
        ("bls", 1), ("ensemble", 3), ("monolith", 1),
    }  # fmt: skip
