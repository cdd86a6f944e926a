"""The work for one picture has upper numbers, whatever the networks answer."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from orchestrator.detection.nearby import MAX_NEARBY
from orchestrator.detection.search import MAX_PARTS
from orchestrator.formats.plate_formats import Formats, PlateFormat
from orchestrator.pipeline import recognize
from orchestrator.reading.improvement import MAX_NEW_CUTS
from orchestrator.settings import Settings
from tests.scripted_networks import ALPHABET, logits_of

FORMATS = Formats(ALPHABET, (PlateFormat("long", ("LDDDLL",)), PlateFormat("square", ("DDD/LLL",))))
HEIGHT, WIDTH, PLATES = 1440, 1920, 100
UNSURE_LOGIT, SURE_LOGIT, SURE_SCORE = 5.0, 20.0, 0.99
NOISE = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
TILTED = torch.tensor([[1.0, -0.1, 0.0], [1.0, 1.0, 0.0]])


class Crowd:
    """Networks that find tilted plates everywhere, and are never sure; counts the rows of each."""

    def __init__(self, score: float, later_logit: float = UNSURE_LOGIT) -> None:
        self.rows: Counter[str] = Counter()
        self.score, self.logit, self.later_logit = score, UNSURE_LOGIT, later_logit

    def __call__(self, model: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        (batch,) = tensors.values()
        self.rows[model] += len(batch)
        if model == "yolo":
            return {"output__0": self.find(*batch.shape[:3])}
        if model == "stn":
            return {"output__0": batch, "output__1": TILTED.expand(len(batch), 2, 3)}
        if self.rows["lprnet"] > PLATES:
            self.logit = self.later_logit
        return {"output__0": torch.stack([logits_of("A123BC", self.logit)] * len(batch))}

    def find(self, count: int, height: int, width: int) -> Tensor:
        """Return square boxes side by side, up to the borders of the net."""
        boxes = [
            (x, y, x + 60, y + 40, self.score - x / 1e5 - y / 1e6, 0)
            for y in range(0, height - 39, 64)
            for x in range(0, width - 59, 64)
        ] + [(96.0, 116, 192, 172, self.score, 0)] * (width == 288)
        return torch.tensor(boxes)[None].expand(count, -1, -1)


@pytest.mark.parametrize("score", [pytest.param(0.4, id="faint"), pytest.param(0.9, id="sure")])
@pytest.mark.parametrize("roi", [None, (300.0, 300.0, 1600.0, 1200.0)])
@pytest.mark.parametrize("max_plates", [1, 100, 1000])
def test_the_rows_of_a_picture_are_bounded(
    score: float, roi: tuple[float, float, float, float] | None, max_plates: int
) -> None:
    infer = Crowd(score)
    settings = Settings(max_plates=max_plates, roi=roi, text_threshold=0)
    plates = recognize(torch.from_numpy(NOISE), infer, settings, formats=FORMATS)
    assert 0 < len(plates) <= max_plates
    assert infer.rows["stn"] == infer.rows["lprnet"] <= max_plates + MAX_NEW_CUTS
    assert infer.rows["yolo"] <= MAX_PARTS + MAX_NEARBY


def test_the_best_detections_are_improved_when_not_all_can_be() -> None:
    infer = Crowd(0.9, later_logit=SURE_LOGIT)
    settings = Settings(max_plates=PLATES)
    plates = recognize(torch.from_numpy(NOISE), infer, settings, formats=FORMATS)
    are_improved = [min(plate.character_scores) > SURE_SCORE for plate in plates]
    assert are_improved == sorted(are_improved, reverse=True)
    assert len(plates) == PLATES
    assert MAX_NEW_CUTS // 5 <= sum(are_improved) < PLATES
    assert MAX_NEW_CUTS // 2 < infer.rows["lprnet"] - PLATES <= MAX_NEW_CUTS
