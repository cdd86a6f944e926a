"""Close-ups with the real networks: plates that fill rendered pictures are found and read."""

import pytest
import torch

from orchestrator.networks.export import Networks, load_networks
from orchestrator.pipeline import recognize
from workshop.rendering.close_ups import CloseUp, draw_close_ups
from workshop.rendering.country import russia


@pytest.fixture(scope="module")
def networks() -> Networks:
    return load_networks(threads=1)


def wide(seed: int) -> CloseUp:
    """A standard plate that is nearly level and fills at least 70 % of its picture's width."""
    return next(
        one
        for one in draw_close_ups(russia(), 40, seed)
        if one.is_standard and one.share > 0.7 and abs(one.turn_deg) < 15
    )


# A photo that is drawn soon, and a tight crop.
@pytest.mark.parametrize("seed", [15, 41])
def test_a_plate_that_fills_its_picture_is_found_and_read(networks: Networks, seed: int) -> None:
    one = wide(seed)
    (plate,) = recognize(torch.from_numpy(one.picture), networks)
    assert plate.text == one.text
    assert plate.xyxy == pytest.approx(one.xyxy, abs=0.1 * (one.xyxy[2] - one.xyxy[0]))
