import pytest
import torch
from torch import Tensor

from orchestrator.networks.stn import STN

torchscript = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")


def crops(count: int) -> Tensor:
    return torch.rand(count, 3, 24, 94, generator=torch.Generator().manual_seed(1)) * 2 - 1


def turned(degrees: float) -> STN:
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
    rectified, _ = turned(180)(batch)
    torch.testing.assert_close(rectified, batch.flip(2, 3), atol=1e-4, rtol=0)


@torchscript
@torch.no_grad()
def test_the_script_computes_what_the_network_computes() -> None:
    stn, batch = turned(10), crops(3)
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
