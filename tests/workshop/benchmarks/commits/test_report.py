import math
from collections.abc import Sequence

import pytest

from workshop.benchmarks.bench.pooling import RoundFigures
from workshop.benchmarks.commits.accuracy import BASE, HEAD
from workshop.benchmarks.commits.measurement import Sample
from workshop.benchmarks.commits.report import Estimate, estimate_ratio, find_figures, quantile


def sample(side: str, throughput: float, *, number: int = 0, picture: str = "a") -> Sample:
    return Sample(number, side, picture, 1, RoundFigures(throughput, 10.0, 20.0))


def test_a_ratio_is_the_head_over_the_base() -> None:
    figures = find_figures([sample(BASE, 20.0), sample(HEAD, 30.0)])
    assert [figure.title for figure in figures] == ["calls/s", "CPU ms a call", "p50 ms"]
    rate = figures[0]
    assert (rate.base, rate.head) == (pytest.approx(20), pytest.approx(30))
    assert rate.ratio.value == pytest.approx(1.5)
    assert figures[1].ratio.value == 1


def test_rounds_are_paired_so_that_a_slow_one_affects_no_ratio() -> None:
    samples = [
        sample(side, factor * speed, number=number)
        for number, speed in enumerate((10.0, 40.0, 90.0))
        for side, factor in ((BASE, 1.0), (HEAD, 1.1))
    ]
    ratio = find_figures(samples)[0].ratio
    assert (ratio.low, ratio.high) == (pytest.approx(1.1), pytest.approx(1.1))


def test_the_passes_of_a_round_are_one_ratio() -> None:
    """A machine that slows down by half in each measurement: A B B A shows no difference."""
    samples = [sample(BASE, 80.0), sample(HEAD, 40.0), sample(HEAD, 20.0), sample(BASE, 10.0)]
    ratio = find_figures(samples)[0].ratio
    assert (ratio.value, ratio.low) == (pytest.approx(1.0), None)


def test_pictures_are_averaged_and_shown_one_by_one() -> None:
    samples = [
        *(sample(BASE, 10.0, picture=one) for one in "ab"),
        *(sample(HEAD, rate, picture=one) for one, rate in (("a", 20.0), ("b", 5.0))),
    ]
    rates = [figure for figure in find_figures(samples) if figure.title == "calls/s"]
    found = {one.picture: one.ratio.value for one in rates}
    assert found == {"": pytest.approx(1.0), "a": pytest.approx(2.0), "b": pytest.approx(0.5)}


def incomplete() -> Sequence[Sample]:
    return [sample(BASE, 10.0), sample(HEAD, 20.0), sample(BASE, 10.0, number=1)]


def test_a_round_without_one_side_is_left_out() -> None:
    rate = find_figures(incomplete())[0]
    assert (rate.ratio.value, rate.ratio.low) == (pytest.approx(2.0), None)


def test_figures_come_in_the_order_of_the_calls_at_once() -> None:
    figures = RoundFigures(1.0, 1.0, 1.0)
    samples = [Sample(0, side, "a", calls, figures) for calls in (16, 4) for side in (BASE, HEAD)]
    assert [figure.calls for figure in find_figures(samples)] == [4, 4, 4, 16, 16, 16]


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
