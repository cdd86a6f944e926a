"""The parts of detector training that need no yolov5: schedule, arguments, export."""

from pathlib import Path

import pytest
import torch

from orchestrator.training.detector import ANCHORS_WH, Recipe, export, parser, rate_at

RECIPE = Recipe(rate=0.01, final_rate=0.1)


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        pytest.param(0, 0.001, id="first step of the warm-up"),
        pytest.param(9, 0.01, id="last step of the warm-up"),
        pytest.param(10, 0.01, id="peak"),
        pytest.param(60, 0.0055, id="half way down"),
        pytest.param(110, 0.001, id="end"),
    ],
)
def test_the_rate_climbs_then_falls_as_a_cosine(step: int, rate: float) -> None:
    assert rate_at(step, steps=110, warmup=10, recipe=RECIPE) == pytest.approx(rate)


def test_without_a_warm_up_training_starts_at_the_peak() -> None:
    assert rate_at(0, steps=10, warmup=0, recipe=RECIPE) == 0.01


def test_every_field_of_the_recipe_is_a_flag() -> None:
    given = parser().parse_args(["--out", "run", "--epochs", "3", "--final-rate", "0.5"])
    assert given.epochs == 3
    assert given.final_rate == 0.5
    assert given.batch == Recipe().batch


def test_anchors_are_wide_and_grow() -> None:
    wh = torch.tensor(ANCHORS_WH).view(-1, 2)
    assert (wh[:, 0] > 2 * wh[:, 1]).all()
    assert (wh.diff(dim=0) > 0).all()


def test_export_writes_the_moving_average_as_float32(tmp_path: Path) -> None:
    average = {"weight": torch.ones(2, dtype=torch.float16), "count": torch.tensor(3)}
    torch.save({"model": {"weight": torch.zeros(2)}, "ema": average}, tmp_path / "best.pt")
    export(tmp_path / "best.pt", tmp_path / "yolo.pt")
    written = torch.load(tmp_path / "yolo.pt", weights_only=True)
    assert written["weight"].dtype == torch.float32
    assert written["weight"].tolist() == [1, 1]
    assert written["count"].dtype == torch.int64
