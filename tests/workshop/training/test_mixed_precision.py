import pytest
import torch

from workshop.training import mixed_precision


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
    monkeypatch.setattr(mixed_precision, "has_bfloat16", lambda: multiplies)
    ones = torch.ones(2, 2)
    with mixed_precision.autocast(torch.device("cpu"), enabled=enabled):
        assert (ones @ ones).dtype == dtype
