"""Results of thousands of calls, counted by protocol."""

from workshop.benchmarks.faults.answers import (
    AnswersReport,
    Options,
    count_by_protocol,
    format_report,
    parse,
)
from workshop.benchmarks.faults.report import Counts
from workshop.benchmarks.load.closed_loop import Call
from workshop.reporting.machine import Machine

MACHINE = Machine("A", 1, 10**9, None, "Linux", "3.12", None, {})
RIGHT, REFUSED = Call("http", 0, 0.0, 1.0), Call("grpc", 0, 0.0, 1.0, "UNAVAILABLE")


def report(*calls: Call) -> AnswersReport:
    return AnswersReport(MACHINE, Options(), 60.0, count_by_protocol(calls), {"stn": 2}, ("why",))


def test_calls_are_counted_by_protocol() -> None:
    assert count_by_protocol([RIGHT, REFUSED, RIGHT]) == {
        "http": Counts(2, 2, longest_s=1.0),
        "grpc": Counts(1, 0, {"UNAVAILABLE": 1}, longest_s=1.0),
    }


def test_nobody_may_be_refused() -> None:
    assert report(RIGHT, RIGHT).is_kept
    assert not report(RIGHT, REFUSED).is_kept


def test_nobody_may_answer_wrongly() -> None:
    assert not report(Call("grpc", 0, 0.0, 1.0, is_wrong=True)).is_kept


def test_what_is_printed_names_the_killed() -> None:
    text = format_report(report(RIGHT, REFUSED))
    assert "| grpc | 1 | 0 | 1 (UNAVAILABLE) | 0 | 0 | 1.0 s |" in text
    assert "2 workers killed in 60 s: 2 of stn\nwhy" in text


def test_options_are_flags() -> None:
    options, path = parse(["--calls", "100", "--pause-s", "0"])
    assert options == Options(calls=100, pause_s=0.0)
    assert path is None
