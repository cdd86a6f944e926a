"""Close-ups with the real networks: plates that fill rendered pictures are found and read."""

import pytest
import torch

from orchestrator.networks.export import Networks, load_networks
from orchestrator.pipeline import recognize
from workshop.rendering.close_ups import draw_close_ups
from workshop.rendering.country import russia
from workshop.rendering.scenes import LabelledPicture

MIN_PROPORTION = 2.2
"""Width to height of the box around a standard plate that is turned by 15 degrees."""


@pytest.fixture(scope="module")
def networks() -> Networks:
    return load_networks(threads=1)


def is_wide(close_up: LabelledPicture) -> bool:
    """Tell whether a standard plate, nearly level, fills at least 70 % of its picture's width."""
    x0, y0, x1, y1 = close_up.region
    is_level = x1 - x0 > MIN_PROPORTION * (y1 - y0)
    return close_up.type == "std" and is_level and x1 - x0 > 0.7 * close_up.picture.shape[1]


# A photo that is drawn soon, and a tight crop.
@pytest.mark.parametrize("seed", [15, 41])
def test_a_plate_that_fills_its_picture_is_found_and_read(networks: Networks, seed: int) -> None:
    close_up = next(filter(is_wide, draw_close_ups(russia(), 40, seed)))
    (plate,) = recognize(torch.from_numpy(close_up.picture), networks)
    x0, _, x1, _ = close_up.region
    assert plate.text == close_up.text
    assert plate.xyxy == pytest.approx(close_up.region, abs=0.1 * (x1 - x0))
