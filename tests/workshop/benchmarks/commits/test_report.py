"""Figures of two commits, their verdicts and the report."""

import math
from collections.abc import Sequence

import pytest

from workshop.benchmarks.bench.pooling import RoundFigures
from workshop.benchmarks.commits.accuracy import (
    BASE,
    HEAD,
    Accuracy,
    JudgedAnswer,
    PairedShare,
    pair_answers,
)
from workshop.benchmarks.commits.measurement import Sample
from workshop.benchmarks.commits.report import (
    CommitReport,
    Estimate,
    Figure,
    estimate_ratio,
    find_figures,
    quantile,
)
from workshop.benchmarks.commits.text import format_report, judge_ratio, judge_share
from workshop.benchmarks.commits.worktrees import Commit
from workshop.evaluation.outcomes import MISSED, READ, WRONG
from workshop.reporting.machine import Machine


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
        *(sample(BASE, 10.0, picture=picture) for picture in "ab"),
        *(sample(HEAD, rate, picture=picture) for picture, rate in (("a", 20.0), ("b", 5.0))),
    ]
    rates = [figure for figure in find_figures(samples) if figure.title == "calls/s"]
    ratios = {figure.picture: figure.ratio.value for figure in rates}
    assert ratios == {"": pytest.approx(1.0), "a": pytest.approx(2.0), "b": pytest.approx(0.5)}


def incomplete() -> Sequence[Sample]:
    return [sample(BASE, 10.0), sample(HEAD, 20.0), sample(BASE, 10.0, number=1)]


def test_a_round_without_one_side_is_left_out() -> None:
    rate = find_figures(incomplete())[0]
    assert (rate.ratio.value, rate.ratio.low) == (pytest.approx(2.0), None)


def test_figures_come_in_the_order_of_the_calls_at_once() -> None:
    figures = RoundFigures(1.0, 1.0, 1.0)
    samples = [Sample(0, side, "a", calls, figures) for calls in (16, 4) for side in (BASE, HEAD)]
    assert [figure.calls for figure in find_figures(samples)] == [4, 4, 4, 16, 16, 16]


def test_the_interval_of_two_rounds_is_worked_out_by_hand() -> None:
    """Mean 0.2; standard error 0.1; the quantile of one degree of freedom is 12.706."""
    ratio = estimate_ratio([0.1, 0.3])
    assert math.log(ratio.value) == pytest.approx(0.2)
    assert math.log(ratio.low or 0) == pytest.approx(0.2 - 1.2706)
    assert math.log(ratio.high or 0) == pytest.approx(0.2 + 1.2706)


@pytest.mark.parametrize(
    ("freedom", "expected_quantile"),
    [
        pytest.param(1, 12.706, id="first"),
        pytest.param(10, 2.228, id="ten"),
        pytest.param(30, 2.042, id="last-of-the-table"),
        pytest.param(31, 2.040, id="first-after-it"),
        pytest.param(120, 1.980, id="many"),
    ],
)
def test_quantiles_are_those_of_printed_tables(freedom: int, expected_quantile: float) -> None:
    assert quantile(freedom) == pytest.approx(expected_quantile, abs=1e-3)


BOTH = JudgedAnswer(("A123BC77",), (READ,))
WRONG_TEXT = JudgedAnswer(("A123BC78",), (WRONG,))
NOTHING = JudgedAnswer((), (MISSED,))


def test_plates_are_paired_picture_by_picture() -> None:
    base = [BOTH, BOTH, NOTHING, WRONG_TEXT]
    head = [BOTH, NOTHING, BOTH, BOTH]
    accuracy = pair_answers("a set", base, head)
    assert (accuracy.name, accuracy.pictures, accuracy.changed) == ("a set", 4, 3)
    assert accuracy.read == PairedShare(plates=4, base=2, head=3, only_base=1, only_head=2)
    assert accuracy.wrong == PairedShare(plates=4, base=1, head=0, only_base=1, only_head=0)


MACHINE = Machine("a CPU", 2, 2**30, None, "Linux", "3.11", None, {})
SAME = PairedShare(plates=200, base=190, head=190, only_base=2, only_head=2)


@pytest.mark.parametrize(
    ("interval", "title", "verdict"),
    [
        pytest.param((0.93, 0.97), "calls/s", "slower by 3.0 to 7.0 %", id="slower"),
        pytest.param((1.03, 1.07), "calls/s", "faster by 3.0 to 7.0 %", id="faster"),
        pytest.param((0.99, 1.01), "calls/s", "no difference seen", id="same"),
        pytest.param((1.0, 1.01), "calls/s", "no difference seen", id="touches"),
        pytest.param((1.03, 1.07), "CPU ms a call", "more CPU by 3.0 to 7.0 %", id="more-cpu"),
        pytest.param((0.9, 0.95), "p50 ms", "shorter by 5.0 to 10.0 %", id="shorter"),
        pytest.param((None, None), "calls/s", "wanted two rounds for a verdict", id="one-round"),
    ],
)
def test_the_verdict_follows_from_the_interval(interval, title: str, verdict: str) -> None:
    assert judge_ratio(Estimate(1.0, *interval), title) == verdict


@pytest.mark.parametrize(
    ("only_base", "only_head", "verdict"),
    [
        pytest.param(0, 0, "no difference seen", id="none"),
        pytest.param(0, 5, "no difference seen", id="may-be-chance"),
        pytest.param(0, 6, "more, p = 0.031", id="more"),
        pytest.param(8, 0, "fewer, p = 0.0078", id="fewer"),
    ],
)
def test_a_share_is_judged_by_mcnemar(only_base: int, only_head: int, verdict: str) -> None:
    share = PairedShare(100, 50, 50 + only_head - only_base, only_base, only_head)
    assert judge_share(share, "more", "fewer") == verdict


def report(figures: tuple[Figure, ...], accuracy: tuple[Accuracy, ...] = ()) -> CommitReport:
    return CommitReport(
        date="2026-01-01 00:00 UTC",
        base=Commit("a" * 40, "Do it"),
        head=Commit("b" * 40, "Do it better"),
        machine=MACHINE,
        rounds=6,
        seconds=1.5,
        options=("--threads=1",),
        figures=figures,
        accuracy=accuracy,
        samples=(),
        notes=("poetry.lock differs",),
        ended="interrupted",
    )


def test_the_report_can_be_pasted() -> None:
    ratio = Estimate(0.95, 0.93, 0.97)
    text = format_report(report((Figure("calls/s", "", 4, 40.0, 38.0, ratio),)))
    assert "**base** `aaaaaaaaa` Do it" in text
    assert (
        "| calls/s, 4 calls at once | 40.0 | 38.0 | 0.950 | 0.930 to 0.970 "
        "| slower by 3.0 to 7.0 % |" in text
    )
    assert "a CPU, 2 cores; rounds, each with new starts: 6; seconds" in text
    assert "- both servers: --threads=1" in text
    assert "- poetry.lock differs" in text
    assert "- **ended early**: interrupted" in text
    assert "<details>" not in text


def test_accuracy_has_the_plates_that_one_commit_alone_reads() -> None:
    share = PairedShare(plates=200, base=190, head=180, only_base=12, only_head=2)
    text = format_report(report((), (Accuracy("streets", 150, 14, share, SAME),)))
    row = next(line for line in text.splitlines() if line.startswith("| streets: read, of 200"))
    assert "| 95.0 % | 90.0 % | -5.0 |" in row
    assert row.endswith("| 12 : 2 | reads fewer, p = 0.013 |")
    assert "- streets: other texts in 14 of 150 pictures" in text


def test_several_pictures_are_folded_away() -> None:
    figures = tuple(
        Figure("calls/s", picture, 1, 1.0, 1.0, Estimate(1.0, 0.9, 1.1))
        for picture in ("", "a", "b")
    )
    text = format_report(report(figures))
    assert "| a x1 | 1.000 (0.900 to 1.100) | - | - |" in text
    assert text.count("calls/s, 1 call at once") == 1


def test_differences_that_cancel_in_the_mean_are_listed() -> None:
    ratios = {"": (1.0, 0.98, 1.02), "a": (1.13, 1.1, 1.2), "b": (0.9, 0.8, 0.95)}
    figures = tuple(
        Figure("CPU ms a call", picture, 1, 1.0, 1.0, Estimate(*limits))
        for picture, limits in ratios.items()
    )
    text = format_report(report(figures))
    assert "- **a**: CPU ms a call, 1 call at once: more CPU by 10.0 to 20.0 %" in text
    assert "- **b**: CPU ms a call, 1 call at once: less CPU by 5.0 to 20.0 %" in text


def test_pictures_without_a_difference_are_not_listed() -> None:
    ratios = {"": Estimate(1.0), "a": Estimate(1.3), "b": Estimate(1.0, 0.9, 1.1)}
    figures = tuple(
        Figure("p50 ms", picture, 1, 1.0, 1.0, ratio) for picture, ratio in ratios.items()
    )
    assert "- **" not in format_report(report(figures)).replace("- **ended", "")
