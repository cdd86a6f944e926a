"""Conditions that cannot be met, worked out by hand."""

from typing import Any

import pytest

from plate_cameras.configuration import Camera, Configuration, Line, Sink, Site, Zone
from plate_cameras.unmet_conditions import describe_unmet, find_missing_lists
from tests.plate_cameras.gates.known_vehicles import make_gate

ENTRY = Zone("entry", ((0.0, 0.5), (1.0, 0.5), (1.0, 1.0)))
STOP = Line("stop", ((0.0, 0.8), (1.0, 0.8)))
GATE = Camera("gate", "rtsp://gate", zones=(ENTRY,), lines=(STOP,))
YARD = Camera("yard", "rtsp://yard")
PUSHED = Camera("push", "push:hikvision")
FOLDER = Camera("folder", "folder:/srv/ftp")
CAMERAS = (GATE, YARD, PUSHED, FOLDER)
SINGLE = "sends single pictures, which seldom show a direction"


@pytest.mark.parametrize(
    ("gate", "sentences"),
    [
        pytest.param({}, [], id="none"),
        pytest.param({"zones": ("entry",), "lines": ("stop",)}, [], id="met"),
        pytest.param(
            {"zones": ("entyr",)}, ["none of its cameras has the zone entyr"], id="misspelt-zone"
        ),
        pytest.param(
            {"zones": ("entry", "exit")}, ["none of its cameras has the zone exit"], id="one-of-two"
        ),
        pytest.param(
            {"lines": ("stpo",)}, ["none of its cameras has the line stpo"], id="misspelt-line"
        ),
        pytest.param(
            {"cameras": ("gate", "yard"), "zones": ("entry",), "lines": ("stop",)},
            [
                "the camera yard has none of its zones, and opens nothing",
                "the camera yard has none of its lines, and opens nothing",
            ],
            id="a-camera-without-areas",
        ),
        pytest.param(
            {"cameras": ("yard",), "zones": ("entry",)},
            ["none of its cameras has the zone entry"],
            id="only-another-camera-has-it",
        ),
        pytest.param({"direction": "towards"}, [], id="a-stream-shows-directions"),
        pytest.param(
            {"cameras": ("gate", "push", "folder"), "direction": "away"},
            [f"the camera push {SINGLE}", f"the camera folder {SINGLE}"],
            id="single-pictures",
        ),
    ],
)
def test_conditions_of_a_gate(gate: dict[str, Any], sentences: list[str]) -> None:
    configuration = Configuration(CAMERAS, gates=(make_gate(**gate),))
    assert describe_unmet(configuration) == [f"gate north: {sentence}" for sentence in sentences]


@pytest.mark.parametrize(
    ("sink", "sentences"),
    [
        pytest.param({"zones": ("entry",)}, [], id="met-by-one-of-all-cameras"),
        pytest.param({"zones": ("exit",)}, ["none of its cameras has the zone exit"], id="zone"),
        pytest.param({"direction": "away"}, [], id="a-stream-shows-directions"),
        pytest.param(
            {"cameras": ("push",), "direction": "away"}, [f"the camera push {SINGLE}"], id="single"
        ),
    ],
)
def test_conditions_of_a_sink(sink: dict[str, Any], sentences: list[str]) -> None:
    configuration = Configuration(CAMERAS, sinks=(Sink("erp", "jsonl", "erp.jsonl", **sink),))
    assert describe_unmet(configuration) == [f"sink erp: {sentence}" for sentence in sentences]


def test_a_site_needs_a_direction_where_one_camera_sees_both_ways() -> None:
    sites = (Site("lot", ("gate", "push"), ("gate", "push")), Site("hall", ("push",), ("folder",)))
    configuration = Configuration(CAMERAS, sites=sites)
    assert describe_unmet(configuration) == [f"site lot: the camera push {SINGLE}"]


def test_missing_lists_are_told_once_each() -> None:
    gate = make_gate(lists=("residents", "staff"), blocked_lists=("stolen", "staff"))
    missing = find_missing_lists(gate, {"residents"})
    assert [condition.sentence for condition in missing] == [
        "there is no list staff",
        "there is no list stolen",
    ]
