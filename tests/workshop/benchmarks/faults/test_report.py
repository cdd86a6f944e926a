"""Promises held against what callers saw, the table of faults, and its page."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import DataError, SettingsError
from workshop.benchmarks.fault_runs import Report, choose, format_notes
from workshop.benchmarks.faults.registry import FAULTS
from workshop.benchmarks.faults.report import (
    TABLE,
    Counts,
    Effect,
    Observation,
    Promise,
    Row,
    find_broken,
    judge,
)
from workshop.benchmarks.faults.settings import BREAKING, SETTINGS
from workshop.benchmarks.load.closed_loop import Call
from workshop.benchmarks.load.connections import LOST
from workshop.reporting.machine import Machine

BEFORE = (Call("http", 0, 0.0, 0.5), Call("grpc", 1, 0.5, 0.9))
AFTER = Call("http", 2, 6.0, 6.4)
QUIET = Observation("kill", 2, (*BEFORE, AFTER), 0.0, began=2.0, whole=3.0, effect=Effect(2.0))
STRICT = Promise(longest_s=3.0, recover_s=5.0)


def observe_calls(*calls: Call, **changes: object) -> Observation:
    return replace(QUIET, calls=(*QUIET.calls, *calls), **changes)


def test_a_fault_that_nobody_noticed_is_over_when_all_processes_are_there() -> None:
    row = judge(QUIET, STRICT)
    assert row.counts == Counts(sent=3, answered=3, longest_s=0.5)
    assert (row.usual_rate, row.usual_longest_s) == (1.0, 0.5)
    assert row.recover_s == 1.0
    assert not row.broken


def test_refused_calls_are_counted_by_what_refused_them() -> None:
    refused = [Call("http", 0, 2.0, 2.1, "503"), Call("grpc", 0, 2.0, 2.1, "UNAVAILABLE")]
    row = judge(observe_calls(*refused, *refused[:1]), STRICT)
    assert row.counts.refused == {"503": 2, "UNAVAILABLE": 1}
    assert row.broken == ("3 calls refused",)
    assert not judge(observe_calls(*refused), replace(STRICT, may_refuse=True)).broken


def test_a_lost_call_is_no_refused_one() -> None:
    row = judge(observe_calls(Call("rest", 0, 2.0, 2.1, LOST)), STRICT)
    assert (row.counts.lost, row.counts.refused) == (1, {})
    assert row.broken == ("1 calls lost",)
    assert not judge(
        observe_calls(Call("rest", 0, 2.0, 2.1, LOST)), replace(STRICT, may_lose=True)
    ).broken


def test_a_fault_that_was_undone_recovers_from_then_on_or_breaks_its_promise() -> None:
    effect = Effect(since=5.0)
    row = judge(observe_calls(Call("http", 0, 2.1, 2.2, "503"), whole=5.5, effect=effect), STRICT)
    assert row.recover_s == 0.5
    row = judge(observe_calls(whole=None), STRICT)
    assert (row.recover_s, row.broken) == (None, ("did not recover",))


@pytest.mark.parametrize(
    ("ended_s", "recover_s"),
    [
        pytest.param(3.9, 1.0, id="as-long-as-before"),
        pytest.param(4.2, 2.2, id="more-than-twice-as-long"),
    ],
)
def test_a_fault_is_over_with_the_last_call_that_waited_for_long(
    ended_s: float, recover_s: float
) -> None:
    assert judge(observe_calls(Call("http", 0, 3.0, ended_s)), STRICT).recover_s == pytest.approx(
        recover_s
    )


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
    row = judge(observe_calls(in_work, later, whole=None, effect=effect), STRICT)
    assert (row.counts.sent, row.counts.lost) == (3, 0)
    assert row.broken == ("exit status 1",)


def test_the_first_failure_of_each_kind_is_told() -> None:
    calls = (
        Call("http", 1, 2.0, 2.9, "503", error="later"),
        Call("http", 2, 2.0, 2.1, "503", error="away"),
        Call("grpc", 3, 2.0, 2.2, LOST, error="Socket closed"),
    )
    assert judge(observe_calls(*calls), STRICT).notes == (
        "first 503 (http, call 2): away",
        "first lost (grpc, call 3): Socket closed",
    )


COUNTS = Counts(10, 7, {"503": 2, "UNAVAILABLE": 1}, 0, 0, 2.345)
KEPT = Row("a", 8, 40.4, 0.3, Counts(10, 10, {}, 0, 0, 0.31), 1.26, notes=("seen",))
BROKEN = Row("b", 8, 40.4, 0.3, COUNTS, None, ("3 calls refused", "did not recover"))
SKIPPED = Row("c", skipped="no libfaketime")
REPORT = Report(
    "2026-11-22", 90.0, Machine("CPU", 2, 10**9, None, "Linux", "3.12", None, {}),
    (KEPT, BROKEN, SKIPPED),
)  # fmt: skip
OTHER = "<!-- figures: others -->\n\nothers\n\n<!-- end of figures -->\n"
PAGE = f"{OTHER}<!-- figures: faults -->\nold\n<!-- end of figures -->\nafter\n"


def cells(line: str) -> list[str]:
    return line.strip("| \n").split(" | ")


def test_each_fault_is_a_row() -> None:
    assert list(format_notes(REPORT)) == ["a: seen"]
    header, _, kept_row, broken_row, skipped_row = TABLE.format_rows(REPORT).splitlines()
    assert cells(header) == ["fault", *TABLE.columns, "promise"]
    assert cells(kept_row) == ["a", "8, 40", "10", "10", "0", "0", "0", "0.3 s", "1.3 s", "kept"]
    assert cells(broken_row)[4:] == [
        "2 (503), 1 (UNAVAILABLE)", "0", "0", "2.3 s", "-", "**3 calls refused; did not recover**",
    ]  # fmt: skip
    assert cells(skipped_row) == ["c", *["-"] * 8, "not made here: no libfaketime"]


def test_the_page_is_written_between_its_marks_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    TABLE.write_page(page, REPORT)
    text = page.read_text()
    assert text.startswith(f"{OTHER}<!-- figures: faults -->\n\n2026-11-22, CPU, 2 cores: 1 of 2 ")
    assert text.endswith("|\n\n<!-- end of figures -->\nafter\n")
    assert "old" not in text


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(DataError, match="wanted the part faults, got none"):
        TABLE.write_page(page, REPORT)
    with pytest.raises(DataError, match="No such file"):
        TABLE.write_page(tmp_path / "none.md", REPORT)
    assert page.read_text() == "nothing"


def test_names_choose_faults_in_the_order_of_the_list() -> None:
    assert choose(FAULTS, []) == [*FAULTS]
    names = [fault.name for fault in choose(FAULTS, ["clock", "kill-stn"])]
    assert names == ["kill-stn", "clock"]


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(SettingsError, match=r"only: wanted some of kill-yolo, .* got earthquake"):
        choose(FAULTS, ["earthquake"])


def test_faults_of_a_setting_are_made_in_a_row() -> None:
    settings = [fault.setting for fault in FAULTS]
    assert {*settings} == SETTINGS.keys() - {*BREAKING.values()}  # those are for first light
    assert settings == sorted(settings, key=settings.index)  # each is started once
