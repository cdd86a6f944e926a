"""The pages with published figures say what was measured, with the weights that lie here."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import DataError
from orchestrator.networks.export import load
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.weights import WEIGHTS, sha256
from tests.workshop.evaluation.scripted import make_outcomes, outcome
from workshop.evaluation.conditions.camera_conditions import AS_IT_IS
from workshop.evaluation.conditions.condition_measurement import measure_conditions
from workshop.evaluation.outcomes import READ, WRONG
from workshop.evaluation.publishing.published import (
    FIGURES,
    OURS,
    PREDECESSOR,
    UNLABELLED,
    Published,
)
from workshop.evaluation.publishing.published_pages import PAGES, PARTS, render
from workshop.reporting.files import PART, read_report

*_, CARDS = PAGES


@pytest.fixture(scope="module")
def publication() -> Published:
    return read_report(Published, FIGURES)


@pytest.mark.parametrize("page", PAGES, ids=["README.md", "docs/accuracy.md", "weights/README.md"])
def test_pages_show_the_published_figures(page: Path, publication: Published) -> None:
    text = page.read_text(encoding="utf-8")
    assert render(text, publication) == text


def test_every_part_stands_on_a_page() -> None:
    names = [part[1] for page in PAGES for part in PART.findall(page.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(PARTS)


def test_figures_come_from_the_weights_that_lie_here(publication: Published) -> None:
    lines = (WEIGHTS / "SHA256SUMS").read_text().splitlines()
    digests = {line.split()[1]: line.split()[0] for line in lines}
    assert publication.weights_sha256 == digests
    ours = {name: digests[network.weights] for name, network in NETWORKS.items()}
    assert publication.runs[OURS].weights_sha256 == ours
    assert publication.runs[PREDECESSOR].weights_sha256["yolo"] == ours["yolo"]
    assert publication.runs[PREDECESSOR].weights_sha256["lprnet"] != ours["lprnet"]


def test_figures_come_from_the_list_of_unlabelled_plates_that_lies_here(
    publication: Published,
) -> None:
    assert publication.unlabelled_sha256 == sha256(UNLABELLED)


@pytest.mark.parametrize(("name", "millions"), [("yolo", 1.77), ("stn", 0.22), ("lprnet", 0.5)])
def test_parameters_are_those_of_the_networks(
    publication: Published, name: str, millions: float
) -> None:
    network = load(name)
    count = sum(parameter.numel() for parameter in network.parameters())
    assert publication.parameters[name] == count
    assert round(count / 1e6, 2) == millions


def test_every_run_names_the_engine_of_each_network(publication: Published) -> None:
    engines = {name: dict(figures.engines) for name, figures in publication.runs.items()}
    assert all(engines_of.keys() == NETWORKS.keys() for engines_of in engines.values())
    assert engines[OURS] == {"yolo": "openvino-int8", "stn": "openvino", "lprnet": "openvino-int8"}


def test_conditions_stand_beside_the_predecessors(publication: Published) -> None:
    runs = {
        OURS: replace(publication.runs[OURS], conditions=measure_conditions(make_outcomes({}))),
        PREDECESSOR: replace(
            publication.runs[PREDECESSOR],
            conditions=measure_conditions(
                make_outcomes({AS_IT_IS: [outcome(READ), outcome(WRONG)]})
            ),
        ),
    }
    text = render(
        CARDS.read_text(encoding="utf-8"), replace(publication, runs=publication.runs | runs)
    )
    assert "The 2 standard plates of the scenes under 16 conditions" in text
    assert "| as it is | 100.0 % | 0.0 % | 0.100 | 50.0 % | 50.0 % | 0.400 |" in text
    assert "| the predecessor's pair | 50.0 % | 100.0 % |" in text


@pytest.mark.parametrize(
    ("text", "found_parts"),
    [
        pytest.param("# Title\n", "none", id="no part"),
        pytest.param("<!-- figures: other -->\n<!-- end of figures -->\n", "other", id="unknown"),
    ],
)
def test_a_page_without_a_known_part_is_refused(
    text: str, found_parts: str, publication: Published
) -> None:
    with pytest.raises(DataError, match=rf"wanted parts readme, .*, got {found_parts}"):
        render(text, publication)
