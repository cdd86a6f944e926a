"""The compositions of the plate chain give the same answers, and are measured side by side."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.supervisor.local_server import on_free_ports, prepare
from orchestrator.supervisor.options import ServerOptions
from orchestrator.supervisor.triton_server import Server
from orchestrator.supervisor.triton_start import run_server
from workshop.benchmarks.compositions.__main__ import app
from workshop.benchmarks.compositions.answers import differ, inputs_of, open_infer
from workshop.benchmarks.compositions.tables import CompositionsReport
from workshop.benchmarks.compositions.workloads import BLS, ENSEMBLE, MONOLITH, PLATES
from workshop.benchmarks.pictures import render
from workshop.reporting.files import read_report

pytestmark = pytest.mark.server
FORMS = {form.name: form for form in PLATES.forms}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with all compositions, one picture in work of each."""
    options = on_free_ports(prepare(ServerOptions(device="cpu", pictures=1)))
    with run_server(options, PLATES.lay_out) as started:
        yield started


@pytest.mark.parametrize("plates", [4, 0])
@pytest.mark.parametrize("form", [ENSEMBLE, MONOLITH])
def test_a_composition_answers_as_the_service(server: Server, form: str, plates: int) -> None:
    infer, inputs = open_infer(server.options.http_url), inputs_of(render(plates))
    wanted = infer(FORMS[BLS].model, inputs, PLATES.outputs)
    assert len(wanted["texts"]) == plates
    assert differ(wanted, infer(FORMS[form].model, inputs, PLATES.outputs)) == ""


def test_compositions_are_measured_beside_the_service(tmp_path: Path) -> None:
    small = ["--instances", "1", "--concurrency", "1", "--seconds", "0.2", "--rounds", "1"]
    result = CliRunner().invoke(app, ["--workload", "plates", *small, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    report = read_report(CompositionsReport, tmp_path / "report.json")
    hops = {(one.cell.form, one.cell.picture): one.hops for one in report.cells}
    assert hops.items() >= {
        (BLS, "small"): 4, (ENSEMBLE, "small"): 6, (MONOLITH, "small"): 1,
        (BLS, "large, no plate"): 3, (ENSEMBLE, "large, no plate"): 6,
    }.items()  # fmt: skip
    assert {one.models: one.processes for one in report.memory}.items() >= {
        BLS: 1, ENSEMBLE: 3, MONOLITH: 1,
    }.items()  # fmt: skip
    assert "| small | ensemble | 1 | 1 |" in (tmp_path / "tables.md").read_text()
