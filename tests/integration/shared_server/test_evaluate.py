"""An evaluation gives the same figures in process and through Triton."""

from dataclasses import asdict
from pathlib import Path

import pytest

from tests.workshop.evaluation.scripted import write_streets
from workshop.evaluation.recognizers import RecognizerOptions
from workshop.evaluation.results import Report
from workshop.evaluation.run import Task, run
from workshop.reporting.files import read_report

TEXTS = ("A123BC77", "M456OP199", "B840OK197", "K903MM159")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_streets(tmp_path_factory.mktemp("data"), TEXTS)


def report_of(data: Path, out: Path, options: RecognizerOptions) -> Report:
    run(Task(out, scenes=data, detection=data), options)
    return read_report(Report, out / "report.json")


def approximately(figures):
    """Return floats with a tolerance for two runs of the same network."""
    if isinstance(figures, dict):
        return {key: approximately(value) for key, value in figures.items()}
    if isinstance(figures, list | tuple):
        return type(figures)(approximately(value) for value in figures)
    return pytest.approx(figures, abs=1e-3) if isinstance(figures, float) else figures


@pytest.fixture(scope="module")
def here(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_of(data, tmp_path_factory.mktemp("here"), RecognizerOptions())


def test_a_running_server_gives_the_same_figures(here, data, tmp_path, wire) -> None:
    there = report_of(data, tmp_path, RecognizerOptions(url=wire.url))
    assert (there.way, there.engines) == ("triton", {})
    assert there.settings == here.settings
    assert there.weights_sha256 == {}
    assert asdict(there.reading) == approximately(asdict(here.reading))
    assert asdict(there.detection) == approximately(asdict(here.detection))


def test_request_parameters_reach_the_server(data, tmp_path, server) -> None:
    options = RecognizerOptions(url=server.options.http_url, parameters={"text_threshold": 1.0})
    report = report_of(data, tmp_path, options)
    assert report.settings.text_threshold == 1.0
    assert report.reading.std.read == 0
