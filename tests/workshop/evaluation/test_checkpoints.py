import shutil
from pathlib import Path

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import russian
from orchestrator.networks.lprnet import LPRNet
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import load_state, pop_alphabet, read_state, with_alphabet
from orchestrator.networks.stn import STN
from orchestrator.networks.weights import WEIGHTS, check_listed, list_sums
from workshop.evaluation.checkpoints import (
    NEVER,
    UNNAMED_ALPHABET,
    assemble,
    read_checkpoint,
    widen,
)


@pytest.fixture
def save_content(tmp_path: Path):
    def save(content: object) -> Path:
        torch.save(content, tmp_path / "theirs.pth")
        return tmp_path / "theirs.pth"

    return save


@pytest.mark.parametrize(
    "wrap", [lambda state: state, lambda state: {"epoch": 3, "net_state_dict": state}]
)
def test_plain_and_wrapped_checkpoints_are_read(save_content, wrap) -> None:
    state = STN().state_dict()
    read_state = read_checkpoint("stn", save_content(wrap(state)))
    assert list(read_state) == list(state)
    assert all(torch.equal(read_state[key], state[key]) for key in state)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(STN(), "wanted a PyTorch file of tensors only", id="pickled module"),
        pytest.param([1, 2], "wanted a state dict, .* got a list", id="list"),
        pytest.param(
            {"epoch": 1, "model": {}}, "got a dict of epoch, model", id="unknown wrapping"
        ),
        pytest.param({}, "wanted stn's .* got none", id="empty"),
        pytest.param(
            STN().state_dict() | {"more": torch.zeros(1)},
            r"wanted stn's more not at all, got \[1\]",
            id="one too many",
        ),
    ],
)
def test_anything_else_is_refused(save_content, content: object, message: str) -> None:
    with pytest.raises(WeightsError, match=message):
        read_checkpoint("stn", save_content(content))


def test_a_tensor_of_another_shape_is_named(save_content) -> None:
    state = STN().state_dict()
    key = next(iter(state))
    state[key] = torch.zeros(1, 2)
    with pytest.raises(WeightsError, match=rf"wanted stn's {key} \[.*\], got \[1, 2\]"):
        read_checkpoint("stn", save_content(state))


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_text("no checkpoint")
    with pytest.raises(WeightsError, match=r"x.pth: wanted a PyTorch file"):
        read_checkpoint("stn", tmp_path / "x.pth")


def test_a_folder_is_assembled_of_theirs_and_ours(save_content, tmp_path: Path) -> None:
    theirs = STN().state_dict()
    folder = tmp_path / "assembled"
    folder.mkdir()
    digests = assemble({"stn": save_content(theirs)}, WEIGHTS, folder)
    assert digests["yolo"] == check_listed(WEIGHTS / NETWORKS["yolo"].weights)
    assert all(len(digest) == 64 for digest in digests.values())
    assert all(check_listed(folder / network.weights) for network in NETWORKS.values())
    assert check_listed(folder / "yolo.int8.xml") == check_listed(WEIGHTS / "yolo.int8.xml")
    assert torch.equal(load_state("stn", folder)[next(iter(theirs))], next(iter(theirs.values())))


@pytest.fixture
def reader() -> dict[str, torch.Tensor]:
    return NETWORKS["lprnet"].build(russian(), {}).state_dict()


def test_an_assembled_reader_says_its_alphabet(save_content, reader, tmp_path: Path) -> None:
    folder = tmp_path / "assembled"
    folder.mkdir()
    assemble({"lprnet": save_content(reader)}, WEIGHTS, folder)
    assert pop_alphabet(read_state(folder / "lprnet.pth")) == russian().alphabet


def test_the_alphabet_of_a_reader_is_none_of_its_weights(save_content, reader) -> None:
    state = read_checkpoint("lprnet", save_content(with_alphabet(reader, russian().alphabet)))
    assert list(state) == list(reader)


def test_a_reader_of_the_same_characters_in_another_order_is_refused(save_content, reader) -> None:
    file = save_content(with_alphabet(reader, russian().alphabet[::-1]))
    with pytest.raises(WeightsError, match=r"theirs.pth: wanted a reader of the formats' alphabet"):
        read_checkpoint("lprnet", file)


@pytest.mark.parametrize("name", ["yolo.int8.xml", "yolo.int8.bin"])
def test_an_8_bit_file_that_is_not_the_listed_one_is_refused(tmp_path: Path, name: str) -> None:
    base, folder = tmp_path / "base", tmp_path / "assembled"
    shutil.copytree(WEIGHTS, base)
    list_sums(base)
    (base / name).write_bytes(b"tampered")
    folder.mkdir()
    with pytest.raises(WeightsError, match=f"{name}: wanted SHA-256"):
        assemble({}, base, folder)


@pytest.mark.parametrize("has_alphabet", [True, False])
def test_a_reader_from_before_diplomats_never_reads_their_letter(
    save_content, has_alphabet: bool
) -> None:
    old = LPRNet(len(UNNAMED_ALPHABET) + 1).state_dict()
    state = read_checkpoint(
        "lprnet", save_content(with_alphabet(old, UNNAMED_ALPHABET) if has_alphabet else old)
    )
    assert state["container.bias"].shape == (russian().classes,)
    assert state["container.bias"][russian().alphabet.index("D")] == NEVER


def network(classes: int) -> LPRNet:
    torch.manual_seed(0)
    return LPRNet(classes).eval()


@torch.no_grad()
@pytest.mark.parametrize("more", ["D", "DF"])
def test_a_wider_reader_says_what_it_said_and_never_the_new_characters(more: str) -> None:
    narrow, wide = network(23), LPRNet(23 + len(more)).eval()
    wide.load_state_dict(widen(narrow.state_dict(), UNNAMED_ALPHABET, UNNAMED_ALPHABET + more))
    crops = torch.rand(2, 3, 24, 94)
    logits = wide(crops)
    torch.testing.assert_close(logits[:, [*range(22), -1]], narrow(crops), atol=1e-5, rtol=1e-4)
    assert (logits[:, 22:-1] == NEVER).all()


def test_the_weights_given_stay_as_they_are() -> None:
    state = network(23).state_dict()
    before = state["container.weight"].clone()
    widen(state, UNNAMED_ALPHABET, UNNAMED_ALPHABET + "D")
    assert torch.equal(state["container.weight"], before)


@pytest.mark.parametrize(
    ("classes", "alphabet"),
    [
        pytest.param(23, "D" + UNNAMED_ALPHABET, id="another order"),
        pytest.param(24, UNNAMED_ALPHABET + "D", id="more classes than characters"),
    ],
)
def test_an_alphabet_that_does_not_begin_with_the_old_one_is_refused(
    classes: int, alphabet: str
) -> None:
    with pytest.raises(WeightsError, match=r"reader: wanted the first characters of .*, got"):
        widen(network(classes).state_dict(), UNNAMED_ALPHABET, alphabet)
