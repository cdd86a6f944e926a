"""The command that measures the published figures, with scripted networks."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.networks.weights import WEIGHTS
from tests.workshop.evaluation.scripted import scripted_networks, write_scenes
from workshop.evaluation.publishing.__main__ import Sources, app, measure
from workshop.evaluation.publishing.published import (
    AS_LABELLED,
    OURS,
    PREDECESSOR,
    PREDECESSOR_ALL,
    Published,
)
from workshop.evaluation.publishing.published_pages import write_conditions
from workshop.reporting.files import read_report, write_report


@pytest.fixture(scope="module")
def publication(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """A plate; a place without one is set aside, and the predecessor's pair is ours."""
    folder = tmp_path_factory.mktemp("data")
    data = write_scenes(folder, "A123BC77")
    unlabelled = folder / "unlabelled.csv"
    unlabelled.write_text("image,x0,y0,x1,y1\n0.png,0,0,9,9\n")
    with scripted_networks(), pytest.MonkeyPatch.context() as patch:
        for name in ("write_reading", "write_conditions", "write_detection"):  # tables and plots
            patch.setattr(f"workshop.evaluation.run.{name}", lambda *_: None)
        return measure(Sources(data, data, WEIGHTS, folder / "reports", unlabelled))


def test_every_run_has_what_the_pages_show(publication: Published) -> None:
    runs = publication.runs
    both = {OURS, "float32", "torchscript", "640", "800"}
    assert {name for name, figures in runs.items() if figures.reading} == {
        *both, PREDECESSOR, PREDECESSOR_ALL,
    }  # fmt: skip
    assert {name for name, figures in runs.items() if figures.detection} == {*both, AS_LABELLED}
    assert {name for name, figures in runs.items() if figures.conditions} == {OURS, PREDECESSOR}
    assert "| as it is | 100.0 % | 0.0 % |" in write_conditions(publication)


def test_runs_differ_by_what_their_names_say(publication: Published) -> None:
    runs = publication.runs
    assert {name: runs[name].engines["yolo"] for name in (OURS, "float32", "torchscript")} == {
        OURS: "openvino-int8", "float32": "openvino", "torchscript": "torchscript",
    }  # fmt: skip
    assert [runs[name].detector_side_px for name in (OURS, "640", "800")] == [960, 640, 800]
    assert [runs[name].text_threshold for name in (PREDECESSOR, PREDECESSOR_ALL)] == [0.6, 0]
    ignored = {name: runs[name].detection.ignored for name in (OURS, AS_LABELLED)}
    assert ignored == {OURS: 1, AS_LABELLED: 0}


def test_the_same_pair_wins_and_loses_nothing(publication: Published) -> None:
    test = publication.against_predecessor
    assert (test.plates, test.won, test.lost, test.p_value) == (1, 0, 0, 1.0)


def test_no_plate_is_published(publication: Published, tmp_path: Path) -> None:
    write_report(publication, tmp_path / "figures.json")
    text = (tmp_path / "figures.json").read_text()
    assert publication.runs[OURS].reading.std.read == 1
    assert "A123BC77" not in text
    assert "0.png" not in text
    assert read_report(Published, tmp_path / "figures.json") == publication


def test_some_of_the_data_is_not_enough(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--scenes", str(tmp_path)])
    assert result.exit_code == 2
    assert "data: wanted --scenes, --detection and --ancestor, or none of them" in result.output
