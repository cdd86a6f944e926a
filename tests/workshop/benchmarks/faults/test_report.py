"""Cost of a fault, computed from made-up calls."""

from dataclasses import replace

import pytest

from workshop.benchmarks.faults.report import (
    Counts,
    Effect,
    Observation,
    Promise,
    Row,
    find_broken,
    judge,
)
from workshop.benchmarks.load.closed_loop import Call
from workshop.benchmarks.load.connections import LOST

BEFORE = (Call("http", 0, 0.0, 0.5), Call("grpc", 1, 0.5, 0.9))
AFTER = Call("http", 2, 6.0, 6.4)
QUIET = Observation("kill", 2, (*BEFORE, AFTER), 0.0, began=2.0, whole=3.0, effect=Effect(2.0))
STRICT = Promise(longest_s=3.0, recover_s=5.0)


def seen(*calls: Call, **changes: object) -> Observation:
    return replace(QUIET, calls=(*QUIET.calls, *calls), **changes)


def test_a_fault_that_nobody_noticed_is_over_when_all_processes_are_there() -> None:
    row = judge(QUIET, STRICT)
    assert row.counts == Counts(sent=3, answered=3, longest_s=0.5)
    assert (row.usual_rate, row.usual_longest_s) == (1.0, 0.5)
    assert row.recover_s == 1.0
    assert not row.broken


def test_refused_calls_are_counted_by_what_refused_them() -> None:
    refused = [Call("http", 0, 2.0, 2.1, "503"), Call("grpc", 0, 2.0, 2.1, "UNAVAILABLE")]
    row = judge(seen(*refused, *refused[:1]), STRICT)
    assert row.counts.refused == {"503": 2, "UNAVAILABLE": 1}
    assert row.broken == ("3 calls refused",)
    assert not judge(seen(*refused), replace(STRICT, may_refuse=True)).broken


def test_a_lost_call_is_no_refused_one() -> None:
    row = judge(seen(Call("rest", 0, 2.0, 2.1, LOST)), STRICT)
    assert (row.counts.lost, row.counts.refused) == (1, {})
    assert row.broken == ("1 calls lost",)
    assert not judge(seen(Call("rest", 0, 2.0, 2.1, LOST)), replace(STRICT, may_lose=True)).broken


def test_a_fault_that_was_undone_recovers_from_then_on_or_breaks_its_promise() -> None:
    effect = Effect(since=5.0)
    row = judge(seen(Call("http", 0, 2.1, 2.2, "503"), whole=5.5, effect=effect), STRICT)
    assert row.recover_s == 0.5
    row = judge(seen(whole=None), STRICT)
    assert (row.recover_s, row.broken) == (None, ("did not recover",))


@pytest.mark.parametrize(
    ("ended", "recover_s"),
    [
        pytest.param(3.9, 1.0, id="as-long-as-before"),
        pytest.param(4.2, 2.2, id="more-than-twice-as-long"),
    ],
)
def test_a_fault_is_over_with_the_last_call_that_waited_for_long(
    ended: float, recover_s: float
) -> None:
    assert judge(seen(Call("http", 0, 3.0, ended)), STRICT).recover_s == pytest.approx(recover_s)


@pytest.mark.parametrize(
    ("promise", "broken"),
    [
        pytest.param(Promise(), (), id="none"),
        pytest.param(Promise(longest_s=4.0), (), id="within"),
        pytest.param(Promise(longest_s=3.0), ("waited 4.0 s, not 3.0",), id="longer"),
        pytest.param(Promise(over_usual_s=0.2), ("waited 4.0 s, not 0.7",), id="over-the-usual"),
        pytest.param(Promise(over_usual_s=3.5), (), id="within-the-usual"),
        pytest.param(Promise(recover_s=2.0), ("recovered in 9.0 s, not 2",), id="late"),
    ],
)
def test_a_promise_is_held_against_the_row(promise: Promise, broken: tuple[str, ...]) -> None:
    row = Row("kill", usual_longest_s=0.5, counts=Counts(longest_s=4.0), recover_s=9.0)
    assert tuple(find_broken(row, promise)) == broken


def test_only_calls_in_progress_count_when_a_service_had_to_end() -> None:
    effect = Effect(2.0, failures=("exit status 1",), is_end=True)
    in_work, later = Call("http", 0, 1.9, 2.5), Call("http", 0, 2.1, 2.2, LOST)
    row = judge(seen(in_work, later, whole=None, effect=effect), STRICT)
    assert (row.counts.sent, row.counts.lost) == (3, 0)
    assert row.broken == ("exit status 1",)


def test_the_first_failure_of_each_kind_is_told() -> None:
    calls = (
        Call("http", 1, 2.0, 2.9, "503", error="later"),
        Call("http", 2, 2.0, 2.1, "503", error="away"),
        Call("grpc", 3, 2.0, 2.2, LOST, error="Socket closed"),
    )
    assert judge(seen(*calls), STRICT).notes == (
        "first 503 (http, call 2): away",
        "first lost (grpc, call 3): Socket closed",
    )
