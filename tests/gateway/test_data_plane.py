"""Figures that the data plane records about a call."""

import pytest

from orchestrator.gateway.data_plane import count_plates
from orchestrator.protocol.inference import InferenceResponse, Tensor

STAGES = Tensor("stage_seconds", "FP32", (7,), bytes(28))
TEXTS = Tensor("texts", "BYTES", (2, 1), b"")


@pytest.mark.parametrize(
    ("model", "outputs", "count"),
    [
        pytest.param("plate_recognition", (TEXTS,), 2, id="plates"),
        pytest.param("plate_recognition", (STAGES, TEXTS), 2, id="another output first"),
        pytest.param("plate_recognition", (STAGES,), 0, id="no output of plates"),
        pytest.param("plate_reader", (TEXTS,), 2, id="a crop"),
        pytest.param("digits", (TEXTS,), 0, id="a model of one's own"),
        pytest.param("plate_recognition", (), 0, id="no output"),
    ],
)
def test_plates_are_counted_by_their_rows(
    model: str, outputs: tuple[Tensor, ...], count: int
) -> None:
    assert count_plates(InferenceResponse(model, "1", "7", outputs)) == count
