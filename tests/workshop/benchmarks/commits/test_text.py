import pytest

from workshop.benchmarks.commits.accuracy import Accuracy, PairedShare
from workshop.benchmarks.commits.report import CommitReport, Estimate, Figure
from workshop.benchmarks.commits.text import format_report, judge_ratio, judge_share
from workshop.benchmarks.commits.worktrees import Commit
from workshop.reporting.machine import Machine

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
    read = PairedShare(plates=200, base=190, head=180, only_base=12, only_head=2)
    text = format_report(report((), (Accuracy("streets", 150, 14, read, SAME),)))
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
        Figure("CPU ms a call", p, 1, 1.0, 1.0, Estimate(*r)) for p, r in ratios.items()
    )
    text = format_report(report(figures))
    assert "- **a**: CPU ms a call, 1 call at once: more CPU by 10.0 to 20.0 %" in text
    assert "- **b**: CPU ms a call, 1 call at once: less CPU by 5.0 to 20.0 %" in text


def test_pictures_without_a_difference_are_not_listed() -> None:
    ratios = {"": Estimate(1.0), "a": Estimate(1.3), "b": Estimate(1.0, 0.9, 1.1)}
    figures = tuple(Figure("p50 ms", p, 1, 1.0, 1.0, one) for p, one in ratios.items())
    assert "- **" not in format_report(report(figures)).replace("- **ended", "")
