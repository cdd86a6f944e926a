"""Conversion of plates to supervision's detections; uses the real package if it is installed."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from orchestrator.client.supervision import to_supervision
from orchestrator.errors import ExtraError
from orchestrator.plates import Plate, PlateRegion, Plates

READ = Plate(
    (10, 20, 110, 50),
    detection_score=0.9,
    text="A123BC77",
    text_score=0.8,
    raw_text="A123BC77",
    corners=((11, 21), (109, 20), (110, 49), (10, 50)),
    format="ru_car",
    region=PlateRegion("77", "Moscow"),
)
FOUND = Plate((0, 0, 4, 2), detection_score=0.5)


@pytest.fixture
def _fake_supervision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the package's class by one that keeps its arguments."""
    module = ModuleType("supervision")
    module.Detections = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "supervision", module)


@pytest.mark.usefixtures("_fake_supervision")
def test_no_plates_are_no_detections_with_the_same_columns() -> None:
    empty_detections, detections = to_supervision(Plates()), to_supervision(Plates((READ,)))
    assert empty_detections.xyxy.shape == (0, 4)
    assert empty_detections.data["xyxyxyxy"].shape == (0, 4, 2)
    assert {name: len(column) for name, column in empty_detections.data.items()} == dict.fromkeys(
        detections.data, 0
    )


@pytest.mark.usefixtures("_fake_supervision")
def test_each_plate_is_a_row() -> None:
    detections = to_supervision(Plates((READ, FOUND)))
    assert detections.xyxy.tolist() == [[10, 20, 110, 50], [0, 0, 4, 2]]
    assert detections.confidence == pytest.approx([0.9, 0.5])
    assert detections.class_id.tolist() == [0, 0]
    data = {name: column.tolist() for name, column in detections.data.items()}
    assert data["text"] == ["A123BC77", ""]
    assert data["region_code"] == ["77", ""]
    assert data["class_name"] == ["plate", "plate"]


@pytest.mark.usefixtures("_fake_supervision")
def test_a_plate_without_corners_has_those_of_its_box() -> None:
    corners = to_supervision(Plates((READ, FOUND))).data["xyxyxyxy"].tolist()
    assert corners == [
        [[11, 21], [109, 20], [110, 49], [10, 50]],
        [[0, 0], [4, 0], [4, 2], [0, 2]],
    ]


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(ExtraError, match="supervision is not installed: pip install supervision"):
        to_supervision(Plates())


def test_supervision_itself_takes_filters_and_draws_them() -> None:
    supervision = pytest.importorskip("supervision")
    detections = to_supervision(Plates((READ, FOUND)))
    detections_with_text = detections[detections.data["text"] != ""]
    assert detections_with_text.data["text"].tolist() == ["A123BC77"]
    grey = np.full((100, 150, 3), 128, np.uint8)
    drawing = supervision.OrientedBoxAnnotator().annotate(grey.copy(), detections_with_text)
    assert (drawing != grey).any()
