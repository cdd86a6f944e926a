"""The mean of readers that were trained from one another."""

import shutil
from pathlib import Path

import pytest
import torch

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.formats.plate_formats import RUSSIA, russian
from orchestrator.networks.export import load
from orchestrator.networks.state_dicts import load_state
from orchestrator.networks.weights import list_sums
from workshop.training.reader.reader_trainer import Reader, save_reader
from workshop.training.weight_mixing import Part, main, mix

ALPHABET = russian().alphabet


def write_reader(folder: Path, seed: int, *, width: int = 1, alphabet: str = ALPHABET) -> Reader:
    folder.mkdir()
    torch.manual_seed(seed)
    reader = Reader(len(alphabet) + 1, width=width).eval()
    save_reader(reader, alphabet, folder)
    shutil.copyfile(RUSSIA, folder / "formats.toml")
    list_sums(folder)
    return reader


def test_each_weight_is_the_mean_of_both_by_their_shares(tmp_path: Path) -> None:
    one, other = write_reader(tmp_path / "one", 1), write_reader(tmp_path / "other", 2)
    main([f"{tmp_path}/one=0.75", f"{tmp_path}/other=0.25", "--out", str(tmp_path / "mixed")])
    mixed = load_state("lprnet", tmp_path / "mixed")["container.weight"]
    wanted = 0.75 * one.lprnet.container.weight + 0.25 * other.lprnet.container.weight
    torch.testing.assert_close(mixed, wanted.detach())
    mixed = load_state("stn", tmp_path / "mixed")["localization.0.weight"]
    wanted = 0.75 * one.stn.localization[0].weight + 0.25 * other.stn.localization[0].weight
    torch.testing.assert_close(mixed, wanted.detach())


@torch.no_grad()
def test_a_narrower_reader_counts_as_the_wider_one_that_it_would_begin(tmp_path: Path) -> None:
    write_reader(tmp_path / "wide", 1, width=2)
    narrow = write_reader(tmp_path / "narrow", 2)
    mix([Part(tmp_path / "wide", 1e-7), Part(tmp_path / "narrow", 1 - 1e-7)], tmp_path / "mixed")
    crops = torch.randn(2, 3, 24, 94)
    mixed = load("lprnet", tmp_path / "mixed")
    torch.testing.assert_close(mixed(crops), narrow.lprnet(crops), rtol=1e-3, atol=1e-4)


def test_shares_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    write_reader(tmp_path / "one", 1)
    with pytest.raises(SettingsError, match=r"add up to 1, got \[0\.5, 0\.4\]"):
        mix([Part(tmp_path / "one", 0.5), Part(tmp_path / "one", 0.4)], tmp_path / "mixed")


def test_a_reader_of_another_alphabet_is_refused(tmp_path: Path) -> None:
    write_reader(tmp_path / "one", 1)
    write_reader(tmp_path / "other", 1, alphabet=ALPHABET[::-1])
    with pytest.raises(WeightsError, match=r"lprnet\.pth: wanted one alphabet, got"):
        mix([Part(tmp_path / "one", 0.5), Part(tmp_path / "other", 0.5)], tmp_path / "mixed")


def test_what_is_no_share_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["runs/one", "--out", "mixed"])
    assert "wanted FOLDER=SHARE, got runs/one" in capsys.readouterr().err
