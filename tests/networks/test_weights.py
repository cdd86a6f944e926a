import hashlib

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import RUSSIA, russian
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import (
    load_state,
    pop_alphabet,
    with_alphabet,
    without_subnormals,
)
from orchestrator.networks.weights import (
    WEIGHTS,
    check_alphabet,
    check_listed,
    choose_formats,
    list_sums,
)


def test_the_weights_of_the_project_are_the_listed_ones() -> None:
    for file in [network.weights for network in NETWORKS.values()]:
        check_listed(WEIGHTS / file)


@pytest.mark.parametrize("network", sorted(NETWORKS))
def test_the_weights_of_the_project_are_plain_float32_and_not_subnormal(network: str) -> None:
    stored_state = torch.load(WEIGHTS / NETWORKS[network].weights, weights_only=True)
    loaded_state = load_state(network)
    floats = [tensor for tensor in stored_state.values() if tensor.is_floating_point()]
    assert {tensor.dtype for tensor in floats} == {torch.float32}
    assert all(tensor.isfinite().all() for tensor in floats)
    assert stored_state.keys() == loaded_state.keys()
    assert all(torch.equal(stored_state[name], loaded_state[name]) for name in stored_state)


def test_subnormal_numbers_become_zero_and_others_stay() -> None:
    numbers = torch.tensor([1e-40, -1e-40, 1e-37, -2.0, 0.0])
    assert without_subnormals(numbers).tolist() == [0, 0, numbers[2].item(), -2, 0]
    assert numbers[0] != 0


def test_whole_numbers_stay() -> None:
    number = torch.tensor(7)
    assert without_subnormals(number) is number


def test_a_list_that_is_none_lists_nothing(tmp_path) -> None:
    (tmp_path / "stn.pth").write_bytes(b"other")
    (tmp_path / "SHA256SUMS").write_bytes(b"garbage\n\xff\xfe\n")
    with pytest.raises(WeightsError, match="wanted SHA-256 listed in SHA256SUMS"):
        check_listed(tmp_path / "stn.pth")


def test_the_reader_of_the_project_says_its_alphabet() -> None:
    state = load_state("lprnet")
    assert pop_alphabet(state) == russian().alphabet
    assert pop_alphabet(state) is None


def test_an_alphabet_is_kept_beside_the_weights() -> None:
    state = {"weight": torch.zeros(2)}
    full_state = with_alphabet(state, "01Д")
    assert set(state) == {"weight"}
    assert pop_alphabet(full_state) == "01Д"
    assert set(full_state) == {"weight"}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"hello", id="text"),
        pytest.param(b"PK\x03\x04" + bytes(100), id="zip"),
    ],
)
def test_a_file_of_something_else_is_refused_in_one_sentence(tmp_path, content: bytes) -> None:
    (tmp_path / "stn.pth").write_bytes(content)
    list_sums(tmp_path)
    with pytest.raises(WeightsError, match=r"stn\.pth: wanted a PyTorch file of tensors only, got"):
        load_state("stn", tmp_path)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(WeightsError, match=r"no such file: .*stn\.pth"):
        load_state("stn", tmp_path)


def test_another_file_than_the_listed_one_is_refused(tmp_path) -> None:
    (tmp_path / "stn.pth").write_bytes(b"other")
    (tmp_path / "SHA256SUMS").write_text(f"{hashlib.sha256(b'ours').hexdigest()}  stn.pth\n")
    with pytest.raises(WeightsError, match=r"stn\.pth: wanted SHA-256 .*, got "):
        load_state("stn", tmp_path)


def test_a_file_that_is_not_listed_is_refused(tmp_path) -> None:
    (tmp_path / "stn.pth").write_bytes(b"other")
    with pytest.raises(WeightsError, match="wanted SHA-256 listed in SHA256SUMS"):
        check_listed(tmp_path / "stn.pth")


def test_the_plates_of_the_project_s_weights_are_those_of_its_country() -> None:
    assert choose_formats() == WEIGHTS / "formats.toml"
    assert choose_formats().read_bytes() == RUSSIA.read_bytes()


def test_other_formats_in_the_same_alphabet_can_be_given(tmp_path) -> None:
    cars = tmp_path / "cars.toml"
    text = f'alphabet = "{russian().alphabet}"\n[[format]]\nname = "car"\nlayouts = ["LDDDLLRR"]'
    cars.write_text(text)
    assert choose_formats(WEIGHTS, cars) == cars


def test_the_same_characters_in_another_order_are_refused(tmp_path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(RUSSIA.read_text().replace("BEKMHOP", "BEKMHPO", 1))
    with pytest.raises(
        WeightsError, match=r"wanted .* alphabet .*BEKMHOPCTYXD, got .*BEKMHPOCTYXD"
    ):
        choose_formats(WEIGHTS, other)


def test_formats_that_were_changed_after_the_training_are_refused(tmp_path) -> None:
    (tmp_path / "formats.toml").write_bytes(RUSSIA.read_bytes())
    assert list_sums(tmp_path) == ["formats.toml"]
    check_alphabet(tmp_path, russian())
    (tmp_path / "formats.toml").write_text(RUSSIA.read_text().replace("BE", "EB", 1))
    with pytest.raises(WeightsError, match=r"formats\.toml: wanted SHA-256"):
        choose_formats(tmp_path)


def test_weights_that_do_not_say_what_they_read_are_refused(tmp_path) -> None:
    with pytest.raises(WeightsError, match=r"wanted formats\.toml, the plates that its weights"):
        choose_formats(tmp_path)
