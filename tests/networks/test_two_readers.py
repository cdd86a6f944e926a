"""A plate without a sign is read by the home country's reader, to the bit."""

import shutil
from pathlib import Path

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import read_formats, russian
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load, load_networks
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.state_dicts import with_alphabet
from orchestrator.networks.two_readers import TwoReaders, join
from orchestrator.networks.weights import WEIGHTS, list_sums
from workshop.training.reader.home_reader import keep_home_reader, read_home_reader

NEIGHBOURS = Path("orchestrator/formats/countries/neighbours/formats.toml")
FORMATS = read_formats(NEIGHBOURS)
HOME_CHARS = len(russian().alphabet)
SIGN_COLUMN = 7


class SignOfBrightness(LPRNet):
    """A reader that sees the last sign on crops whose first channel is bright."""

    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        logits = super().forward(crops)
        logits[:, -2, :] = -50
        logits[:, -2, SIGN_COLUMN] = 100 * (crops[:, 0].mean(dim=(1, 2)) > 0).float() - 50
        return logits


@pytest.fixture
def reader() -> TwoReaders:
    torch.manual_seed(0)
    abroad = SignOfBrightness(FORMATS.classes)
    return TwoReaders(load("lprnet"), abroad, signs=1).eval()


@torch.inference_mode()
def test_each_plate_of_a_batch_is_read_by_the_reader_of_its_country(reader: TwoReaders) -> None:
    crops = 0.5 * torch.rand(3, 3, 24, 94)
    crops[1] *= -1  # at home
    logits, home_logits, foreign_logits = reader(crops), reader.home(crops), reader.abroad(crops)

    assert torch.equal(logits[[0, 2]], foreign_logits[[0, 2]])
    assert torch.equal(logits[1, :HOME_CHARS], home_logits[1, :-1])
    assert torch.equal(logits[1, -1], home_logits[1, -1])
    assert (logits[1, HOME_CHARS:-1] < home_logits[1].min()).all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of weights whose reader, of all countries, was just trained."""
    torch.manual_seed(0)
    state = with_alphabet(LPRNet(FORMATS.classes).state_dict(), FORMATS.alphabet)
    torch.save(state, tmp_path / "lprnet.pth")
    shutil.copy(NEIGHBOURS, tmp_path / "formats.toml")
    shutil.copy(WEIGHTS / "yolo.pt", tmp_path)
    list_sums(tmp_path)
    keep_home_reader(WEIGHTS, tmp_path)
    list_sums(tmp_path)
    return tmp_path


@pytest.mark.parametrize("engine", [Engine.TORCHSCRIPT, Engine.OPENVINO])
def test_an_engine_reads_russian_plates_as_by_the_projects_own_weights(
    folder: Path, engine: Engine
) -> None:
    crops = torch.rand(5, 3, 24, 94) * 2 - 1
    [logits] = load_networks(folder, engine=engine)("lprnet", {"input__0": crops}).values()
    [home_logits] = load_networks(engine=engine)("lprnet", {"input__0": crops}).values()
    torch.testing.assert_close(
        torch.as_tensor(logits)[:, :HOME_CHARS], torch.as_tensor(home_logits)[:, :-1]
    )
    assert (folder / "stn.pth").read_bytes() == (WEIGHTS / "stn.pth").read_bytes()


def test_a_joined_reader_is_a_home_itself(folder: Path) -> None:
    ours, theirs = read_home_reader(WEIGHTS, FORMATS), read_home_reader(folder, FORMATS)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_formats_without_signs_have_no_home_reader() -> None:
    with pytest.raises(WeightsError, match="wanted plate formats with signs of countries"):
        read_home_reader(WEIGHTS, russian())


def test_weights_of_half_a_reader_are_refused(tmp_path: Path) -> None:
    state = join({}, LPRNet(FORMATS.classes).state_dict())
    torch.save(with_alphabet(state, FORMATS.alphabet), tmp_path / "lprnet.pth")
    shutil.copy(NEIGHBOURS, tmp_path / "formats.toml")
    list_sums(tmp_path)
    with pytest.raises(WeightsError, match="wanted weights of LPRNet for these plate formats"):
        load("lprnet", tmp_path)
