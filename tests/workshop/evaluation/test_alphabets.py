"""Readers with additional characters in their alphabet."""

import pytest
import torch

from orchestrator.errors import WeightsError
from orchestrator.networks.lprnet import LPRNet
from workshop.evaluation.alphabets import NEVER, UNTOLD, widen


def network(classes: int) -> LPRNet:
    torch.manual_seed(0)
    return LPRNet(classes).eval()


@torch.no_grad()
@pytest.mark.parametrize("more", ["D", "DF"])
def test_a_wider_reader_says_what_it_said_and_never_the_new_characters(more: str) -> None:
    narrow, wide = network(23), LPRNet(23 + len(more)).eval()
    wide.load_state_dict(widen(narrow.state_dict(), UNTOLD, UNTOLD + more))
    crops = torch.rand(2, 3, 24, 94)
    logits = wide(crops)
    torch.testing.assert_close(logits[:, [*range(22), -1]], narrow(crops), atol=1e-5, rtol=1e-4)
    assert (logits[:, 22:-1] == NEVER).all()


def test_the_weights_given_stay_as_they_are() -> None:
    state = network(23).state_dict()
    before = state["container.weight"].clone()
    widen(state, UNTOLD, UNTOLD + "D")
    assert torch.equal(state["container.weight"], before)


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [
        pytest.param(23, "D" + UNTOLD, id="another order"),
        pytest.param(24, UNTOLD + "D", id="more classes than characters"),
    ],
)
def test_an_alphabet_that_does_not_begin_with_the_old_one_is_refused(
    classes: int, wanted: str
) -> None:
    with pytest.raises(WeightsError, match=r"reader: wanted the first characters of .*, got"):
        widen(network(classes).state_dict(), UNTOLD, wanted)
