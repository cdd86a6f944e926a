from pathlib import Path

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.state_dicts import with_alphabet
from orchestrator.networks.two_readers import join
from orchestrator.networks.weights import WEIGHTS
from workshop.evaluation.checkpoints import UNNAMED_ALPHABET
from workshop.training.reader.initial_weights import CONTEXT, adapt, take_weights
from workshop.training.reader.reader_trainer import Reader, save_reader

ALPHABET = russian().alphabet


def write(folder: Path, reader: Reader, alphabet: str = ALPHABET) -> Reader:
    save_reader(reader, alphabet, folder)
    return reader


def start(reader: Reader, folder: Path, alphabet: str = ALPHABET) -> Reader:
    take_weights(reader.stn, reader.lprnet, folder, alphabet)
    return reader


def test_weights_of_a_published_checkpoint_can_be_started_from(tmp_path: Path) -> None:
    for name in ("stn.pth", "lprnet.pth"):
        state = torch.load(WEIGHTS / name, weights_only=True)
        torch.save({"epoch": 3, "net_state_dict": state}, tmp_path / name)
    fresh = start(Reader(24, width=2), tmp_path)
    assert torch.equal(fresh.lprnet.container.weight, state["container.weight"])


def test_a_reader_that_does_not_tell_its_alphabet_is_one_from_before_diplomats(tmp_path) -> None:
    reader = Reader(len(UNNAMED_ALPHABET) + 1)
    torch.save(reader.stn.state_dict(), tmp_path / "stn.pth")
    torch.save(reader.lprnet.state_dict(), tmp_path / "lprnet.pth")
    fresh = start(Reader(24), tmp_path)
    kept_columns = [*range(22), 23]  # all but the D
    assert torch.equal(fresh.lprnet.container.bias[kept_columns], reader.lprnet.container.bias)


def test_of_two_readers_the_one_of_all_countries_is_started_from(tmp_path: Path) -> None:
    reader = write(tmp_path, Reader(24))
    state = join(Reader(20).lprnet.state_dict(), reader.lprnet.state_dict())
    torch.save(with_alphabet(state, ALPHABET), tmp_path / "lprnet.pth")
    fresh = start(Reader(24), tmp_path)
    assert torch.equal(fresh.lprnet.container.bias, reader.lprnet.container.bias)


@torch.no_grad()
def test_a_wider_reader_starts_as_what_it_starts_from(tmp_path: Path) -> None:
    narrow, wide = Reader(24).eval(), Reader(24, width=2).eval()
    torch.nn.init.normal_(narrow.stn.fc_loc[2].weight, std=0.01)  # which begins as the identity
    write(tmp_path, narrow)
    start(wide, tmp_path)
    crops = torch.randn(3, 3, 24, 94)
    for wide_output, narrow_output in zip(wide(crops), narrow(crops), strict=True):
        torch.testing.assert_close(wide_output, narrow_output)


def test_the_new_weights_of_a_wider_reader_learn_at_once(tmp_path: Path) -> None:
    write(tmp_path, Reader(24))
    wide = start(Reader(24, width=2), tmp_path)
    wide(torch.randn(3, 3, 24, 94))[0].square().mean().backward()
    last = wide.lprnet.backbone[4].block[6].weight
    assert not last[:, 32:].any()
    assert last.grad[:, 32:].any()


def test_weights_of_a_wider_reader_are_refused(tmp_path: Path) -> None:
    write(tmp_path, Reader(24, width=2))
    with pytest.raises(WeightsError, match="wanted weights of STN, got others"):
        start(Reader(24), tmp_path)


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"stn.pth: cannot be read:"):
        start(Reader(24), tmp_path)
    for name in ("stn.pth", "lprnet.pth"):
        torch.save({"weight": torch.zeros(2)}, tmp_path / name)
    with pytest.raises(WeightsError, match="wanted weights of STN, got others"):
        start(Reader(24), tmp_path)


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
    first_weights = state["container.weight"][..., 0, 0]
    assert (result[0] == -1).all()
    assert torch.equal(result[1, :CONTEXT], first_weights[1, :CONTEXT])
    assert result[1, CONTEXT:].tolist() == [0, *first_weights[1, CONTEXT + 1 :].tolist()]


def test_without_formats_the_weights_say_their_alphabet(tmp_path: Path) -> None:
    theirs = write(tmp_path, Reader(3), "AB")
    fresh = start(Reader(3), tmp_path, "BA")
    assert torch.equal(fresh.lprnet.container.bias, theirs.lprnet.container.bias[[1, 0, 2]])


def test_weights_in_another_alphabet_than_their_formats_are_refused(tmp_path: Path) -> None:
    write(tmp_path, Reader(3), "AB")
    (tmp_path / "formats.toml").write_text(
        'alphabet = "1A"\n[[format]]\nname = "mine"\nlayouts = ["LD"]\n'
    )
    with pytest.raises(WeightsError, match=r"its formats\.toml, 1A, got one in AB$"):
        start(Reader(3), tmp_path, "BA")
