import math

import pytest

from workshop.benchmarks.commits.estimates import Estimate, estimate_ratio, quantile


def test_a_single_round_has_no_interval() -> None:
    assert estimate_ratio([math.log(1.5)]) == Estimate(pytest.approx(1.5), None, None)


def test_the_interval_of_two_rounds_is_worked_out_by_hand() -> None:
    """Mean 0.2; standard error 0.1; the quantile of one degree of freedom is 12.706."""
    found = estimate_ratio([0.1, 0.3])
    assert math.log(found.value) == pytest.approx(0.2)
    assert math.log(found.low or 0) == pytest.approx(0.2 - 1.2706)
    assert math.log(found.high or 0) == pytest.approx(0.2 + 1.2706)


@pytest.mark.parametrize(
    ("freedom", "wanted"),
    [
        pytest.param(1, 12.706, id="first"),
        pytest.param(10, 2.228, id="ten"),
        pytest.param(30, 2.042, id="last-of-the-table"),
        pytest.param(31, 2.040, id="first-after-it"),
        pytest.param(120, 1.980, id="many"),
    ],
)
def test_quantiles_are_those_of_printed_tables(freedom: int, wanted: float) -> None:
    assert quantile(freedom) == pytest.approx(wanted, abs=1e-3)
