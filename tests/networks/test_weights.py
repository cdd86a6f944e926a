import hashlib

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import load_state, without_subnormals
from orchestrator.networks.weights import WEIGHTS, check_listed


def test_the_weights_of_the_project_are_the_listed_ones() -> None:
    for file in [one.weights for one in NETWORKS.values()]:
        check_listed(WEIGHTS / file)


@pytest.mark.parametrize("network", sorted(NETWORKS))
def test_the_weights_of_the_project_are_plain_float32_and_not_subnormal(network: str) -> None:
    stored = torch.load(WEIGHTS / NETWORKS[network].weights, weights_only=True)
    loaded = load_state(network)
    floats = [tensor for tensor in stored.values() if tensor.is_floating_point()]
    assert {tensor.dtype for tensor in floats} == {torch.float32}
    assert all(tensor.isfinite().all() for tensor in floats)
    assert stored.keys() == loaded.keys()
    assert all(torch.equal(stored[name], loaded[name]) for name in stored)


def test_subnormal_numbers_become_zero_and_others_stay() -> None:
    given = torch.tensor([1e-40, -1e-40, 1e-37, -2.0, 0.0])
    assert without_subnormals(given).tolist() == [0, 0, given[2].item(), -2, 0]
    assert given[0] != 0


def test_whole_numbers_stay() -> None:
    given = torch.tensor(7)
    assert without_subnormals(given) is given


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
