"""Texts that are shown, and crops of plates of one line and two among one another."""

import pytest
import torch

from orchestrator.formats.plate_formats import russian
from orchestrator.plates import Plate
from orchestrator.reading.ctc import Reading
from orchestrator.reading.readings import read_lines, with_text
from tests.scripted_networks import logits_of

READING = Reading("A001AA7", (0.5,) * 7, (("A001AA77", 0.625), ("A001AA71", 0.25)))


@pytest.mark.parametrize(
    ("threshold", "text", "name"),
    [
        pytest.param(0.625, "A001AA77", "ru_car", id="as sure as wanted"),
        pytest.param(0.626, "", "", id="less sure"),
    ],
)
def test_a_text_is_shown_from_the_threshold_on(threshold: float, text: str, name: str) -> None:
    plate = with_text(Plate(xyxy=(1.0, 2.0, 3.0, 4.0)), READING, threshold, russian())
    assert (plate.xyxy, plate.text, plate.format) == ((1, 2, 3, 4), text, name)
    assert (plate.region is not None) == bool(text)
    assert (plate.text_score, plate.raw_text, plate.candidates) == (
        READING.score,
        READING.raw_text,
        READING.candidates,
    )


def test_readings_have_the_order_of_the_crops_whatever_their_lines() -> None:
    texts, lines = ("A001AA77", "B840OK197", "M456OP19"), (2, 1, 2)
    logits = torch.stack([logits_of(text) for text in texts]).numpy()
    readings = read_lines(logits, lines, russian(), 1.0)
    assert [reading.candidates[0][0] for reading in readings] == [*texts]
    assert [reading.lines for reading in readings] == [*lines]
