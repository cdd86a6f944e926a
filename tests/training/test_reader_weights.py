"""The weights that come with the project, not the code that trains them."""

from pathlib import Path

import pytest
import torch

from orchestrator.formats import russian
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.stn import STN
from rendering.scenery import scene
from rendering.synth import cut
from training.pools import to_input
from training.reader import best_path

WEIGHTS = Path(__file__).parents[2] / "weights"


@pytest.mark.parametrize("name", ["stn.pth", "lprnet.pth"])
def test_weights_are_plain_float32_without_subnormal_numbers(name: str) -> None:
    state = torch.load(WEIGHTS / name, weights_only=True)
    weights = [tensor for tensor in state.values() if tensor.is_floating_point()]
    assert {tensor.dtype for tensor in weights} == {torch.float32}
    values = torch.cat([tensor.flatten().abs() for tensor in weights])
    assert not ((values > 0) & (values < torch.finfo(torch.float32).tiny)).any()
    assert values.isfinite().all()


@torch.no_grad()
def test_the_reader_reads_the_plates_of_a_rendered_street() -> None:
    stn, lprnet = STN().eval(), LPRNet(23).eval()
    stn.load_state_dict(torch.load(WEIGHTS / "stn.pth", weights_only=True))
    lprnet.load_state_dict(torch.load(WEIGHTS / "lprnet.pth", weights_only=True))
    texts = ("A123BC77", "M456OP199", "AB98750", "1234KX76")
    street = scene(texts, (1280, 960), seed=4)
    crops = [cut(street.picture, box.astype(float)) for box in street.xyxy]
    rectified, _ = stn(torch.cat([to_input(crop[None]) for crop in crops]))
    assert best_path(lprnet(rectified), russian().alphabet) == list(texts)
