import pytest
import torch

from workshop.training import optimization
from workshop.training.optimization import average_weights, decay_at


@pytest.mark.parametrize(
    ("multiplies", "enabled", "dtype"),
    [
        pytest.param(True, True, torch.bfloat16, id="a CPU with bfloat16"),
        pytest.param(True, False, torch.float32, id="not while measuring"),
        pytest.param(False, True, torch.float32, id="a CPU without"),
    ],
)
def test_bfloat16_is_for_training_on_cpus_that_multiply_it(
    monkeypatch: pytest.MonkeyPatch, multiplies: bool, enabled: bool, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(optimization, "has_bfloat16", lambda: multiplies)
    matrix = torch.ones(2, 2)
    with optimization.autocast(torch.device("cpu"), enabled=enabled):
        assert (matrix @ matrix).dtype == dtype


def test_the_average_follows_the_more_slowly_the_longer_it_lasts() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    average = average_weights(layer, 0.998)
    averages = []
    for weight in (4.0, 15.0, 15.0):
        with torch.no_grad():
            layer.weight.fill_(weight)
        average.update_parameters(layer)
        averages.append(average.module.weight.item())
    # first the weights themselves; then 2/11 of 4 and 9/11 of 15; then 3/12 of that and 9/12 of 15
    assert averages == pytest.approx([4, 13, 0.25 * 13 + 0.75 * 15])
    assert decay_at(100_000, 0.998) == 0.998


def test_an_average_goes_on_where_it_was_left() -> None:
    layer = torch.nn.Linear(1, 1)
    whole, again = (average_weights(layer, 0.998) for _ in range(2))
    whole.update_parameters(layer)
    again.load_state_dict(whole.state_dict())
    with torch.no_grad():
        layer.weight.add_(1)
    whole.update_parameters(layer)
    again.update_parameters(layer)
    assert torch.equal(again.module.weight, whole.module.weight)
    assert again.n_averaged == 2
