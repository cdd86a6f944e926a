"""The rectifier, and the preparation of crops for it."""

import pytest
import torch
from torch import Tensor

from orchestrator.networks.export import load, script
from orchestrator.networks.stn import STN
from orchestrator.reading.crops import crop_plates

torchscript = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")


def crops(count: int) -> Tensor:
    return torch.rand(count, 3, 24, 94, generator=torch.Generator().manual_seed(1)) * 2 - 1


def stn_with_turn(degrees: float) -> STN:
    """Return a transformer that always returns the same rotation."""
    stn, angle = STN().eval(), torch.deg2rad(torch.tensor(degrees))
    with torch.no_grad():
        turn = [torch.cos(angle), -torch.sin(angle), 0.0, torch.sin(angle), torch.cos(angle), 0.0]
        stn.fc_loc[2].bias.copy_(torch.tensor(turn))
    return stn


@torch.no_grad()
def test_theta_is_the_identity_before_training() -> None:
    _, theta = STN()(crops(2))
    assert theta.tolist() == [[[1, 0, 0], [0, 1, 0]]] * 2


@torch.no_grad()
def test_the_identity_returns_the_crop() -> None:
    batch = crops(2)
    rectified, _ = STN()(batch)
    torch.testing.assert_close(rectified, batch, atol=1e-4, rtol=0)


@torch.no_grad()
def test_a_half_turn_is_a_half_turn() -> None:
    batch = crops(1)
    rectified, _ = stn_with_turn(180)(batch)
    torch.testing.assert_close(rectified, batch.flip(2, 3), atol=1e-4, rtol=0)


@torchscript
@torch.no_grad()
def test_the_script_computes_what_the_network_computes() -> None:
    stn, batch = stn_with_turn(10), crops(3)
    scripted = torch.jit.script(stn)
    rectified, theta = scripted(batch)
    torch.testing.assert_close(rectified, stn(batch)[0])
    torch.testing.assert_close(theta, stn(batch)[1])
    assert scripted(batch[:1])[0].shape == (1, 3, 24, 94)


def test_parameters_have_the_names_of_third_party_checkpoints() -> None:
    shapes = {name: tuple(weight.shape) for name, weight in STN().state_dict().items()}
    assert shapes["localization.0.weight"] == (32, 3, 3, 3)
    assert shapes["localization.3.weight"] == (32, 32, 5, 5)
    assert shapes["fc_loc.0.weight"] == (32, 896)
    assert shapes["fc_loc.2.weight"] == (6, 32)
    assert len(shapes) == 8


@pytest.fixture(scope="module")
def prepare() -> torch.jit.ScriptModule:
    return script(load("plate_reader_prepare"))


@pytest.mark.parametrize(
    ("height", "width"), [(1, 1), (24, 94), (48, 188), (60, 201), (7, 300), (300, 7)]
)
def test_a_crop_becomes_what_the_pipeline_makes_of_it(prepare, height: int, width: int) -> None:
    crop = torch.randint(256, (height, width, 3), dtype=torch.uint8)
    whole = torch.tensor([[0.0, 0, width, height]])
    assert torch.equal(prepare(crop), crop_plates(crop, whole, (0, 0)))


@pytest.mark.parametrize(("height", "width"), [(0, 5), (5, 0), (4001, 4000)])
def test_a_crop_of_no_or_too_many_pixels_is_refused(prepare, height: int, width: int) -> None:
    crop = torch.zeros((height, width, 3), dtype=torch.uint8)
    with pytest.raises(
        torch.jit.Error, match=rf"wanted 1 to 16000000 pixels, got {width}x{height}"
    ):
        prepare(crop)
