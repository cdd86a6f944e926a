from pathlib import Path

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.formats import russian
from orchestrator.networks.weights import WEIGHTS
from training.reader_trainer import Reader
from training.starts import CONTEXT, adapt, take_weights

ALPHABET = russian().alphabet


def test_weights_of_a_published_checkpoint_can_be_started_from(tmp_path: Path) -> None:
    for name in ("stn.pth", "lprnet.pth"):
        state = torch.load(WEIGHTS / name, weights_only=True)
        torch.save({"epoch": 3, "net_state_dict": state}, tmp_path / name)
    fresh = Reader(23)
    take_weights(fresh.stn, fresh.lprnet, tmp_path, ALPHABET)
    assert torch.equal(fresh.lprnet.container.weight, state["container.weight"])


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    fresh = Reader(23)
    with pytest.raises(WeightsError, match=r"stn.pth: cannot be read:"):
        take_weights(fresh.stn, fresh.lprnet, tmp_path, ALPHABET)
    for name in ("stn.pth", "lprnet.pth"):
        torch.save({"weight": torch.zeros(2)}, tmp_path / name)
    with pytest.raises(WeightsError, match="wanted weights of STN, got others"):
        take_weights(fresh.stn, fresh.lprnet, tmp_path, ALPHABET)


def test_another_alphabet_keeps_the_rows_of_shared_characters_and_the_blank() -> None:
    state = {"container.bias": torch.tensor([0.0, 1, 2]), "backbone.0.bias": torch.tensor([9.0])}
    fresh = {"container.bias": torch.tensor([-1.0, -2, -3, -4]), "backbone.0.bias": torch.zeros(1)}
    result = adapt(state, fresh, "AB", "BCA")
    assert result["container.bias"].tolist() == [1, -2, 0, 2]
    assert result["backbone.0.bias"].tolist() == [9]


def test_another_alphabet_keeps_columns_of_shared_characters_too() -> None:
    state = {"container.weight": torch.arange(3.0 * (CONTEXT + 3)).view(3, CONTEXT + 3, 1, 1)}
    fresh = {"container.weight": torch.full((3, CONTEXT + 3, 1, 1), -1.0)}
    result = adapt(state, fresh, "AB", "XB")["container.weight"][..., 0, 0]
    given = state["container.weight"][..., 0, 0]
    assert (result[0] == -1).all()
    assert torch.equal(result[1, :CONTEXT], given[1, :CONTEXT])
    assert result[1, CONTEXT:].tolist() == [-1, *given[1, CONTEXT + 1 :].tolist()]
