"""Deliberate faults around a real `plates watch`: no vehicle is lost or reported wrongly."""

import pytest

from tests.plate_cameras.servers import check_gstreamer
from workshop.benchmarks.camera_faults import observation
from workshop.benchmarks.camera_faults.__main__ import make_all
from workshop.benchmarks.camera_faults.registry import FAULTS
from workshop.benchmarks.fault_runs import choose

pytestmark = pytest.mark.nightly
FEW = (
    "kill-decoder",
    "kill-postgresql",
    "relay-dies",
    "clock-back-40-days",
    "end-watch",
    "suspend-sharing",
)


def test_no_fault_loses_a_vehicle_or_opens_a_gate_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    check_gstreamer()
    monkeypatch.setattr(observation, "BEFORE_S", 3.0)
    monkeypatch.setattr(observation, "AFTER_S", 4.0)
    rows = make_all(choose(FAULTS, FEW), None, at_once=len(FEW))
    made_rows = [row for row in rows if not row.skipped]
    assert [row.broken for row in made_rows if row.told_s is None] == []
    harm = [(row.name, row.lost, row.doubled, row.wrong_openings) for row in made_rows]
    assert harm == [(row.name, 0, 0, 0) for row in made_rows]
