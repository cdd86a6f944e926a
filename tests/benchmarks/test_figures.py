"""Figures of a cell, ratios, and runs side by side: worked out by hand."""

import json
from pathlib import Path

import pytest

from benchmarks.comparison import compared, differences, medians, read_report
from benchmarks.figures import (
    SCALING,
    SERVED,
    SPREAD,
    TAX,
    bare_figures,
    cell_figures,
    percentile,
    ratios,
)
from benchmarks.load import Sample
from benchmarks.plan import Key
from orchestrator.contract import MODEL
from orchestrator.errors import DataError

KEY = Key("1 plate", "http-encoded", 4)


def cell(transport: str, concurrency: int, *rounds: float, **more: object) -> dict:
    return {
        "picture": "street",
        "transport": transport,
        "concurrency": concurrency,
        "plates": 0,
        "throughput": sum(rounds) / len(rounds),
        "throughput_by_round": list(rounds),
        "p50_ms": 100.0,
        "p99_ms": 150.0,
        "cpu_s_per_call": 0.2,
    } | more


class TestCell:
    def test_latencies_are_pooled_and_throughput_is_the_median_round(self) -> None:
        samples = [Sample(1.0, (10.0,)), Sample(1.0, (20.0, 30.0)), Sample(2.0, (40.0,) * 10)]
        figures = cell_figures(KEY, samples)
        assert (figures["picture"], figures["transport"], figures["concurrency"]) == KEY
        assert figures["calls"] == 13
        assert figures["throughput_by_round"] == [1.0, 2.0, 5.0]
        assert figures["throughput"] == 2.0
        assert figures["p50_ms"] == 40.0

    def test_cpu_is_divided_by_all_calls(self) -> None:
        samples = [
            Sample(
                1.0,
                (1.0,) * calls,
                used={"cpu_s": 0.3, "client_cpu_s": calls / 100},
                peaks={"memory_bytes": 5 * calls, "shm_bytes": 4 - calls},
            )
            for calls in (1, 2)
        ]
        figures = cell_figures(KEY, samples)
        assert figures["cpu_s_per_call"] == pytest.approx(0.2)
        assert figures["client_cpu_s_per_call"] == pytest.approx(0.01)
        assert (figures["memory_bytes"], figures["shm_bytes"]) == (10, 3)

    def test_what_was_not_measured_is_none(self) -> None:
        figures = cell_figures(KEY, [Sample(1.0, ())])
        names = ("p50_ms", "p99_ms", "cpu_s_per_call", "memory_bytes", "stages", "plates")
        assert [figures[name] for name in names] == [None] * 6
        assert figures["throughput"] == 0

    def test_failures_are_added_up(self) -> None:
        samples = [
            Sample(1.0, (), refused=1),
            Sample(1.0, (), refused=2, errors=3, first_error="a"),
            Sample(1.0, (), errors=1, first_error="b"),
        ]
        figures = cell_figures(KEY, samples)
        assert (figures["refused"], figures["errors"], figures["first_error"]) == (3, 4, "a")

    def test_counters_of_the_rounds_become_stages(self) -> None:
        counters = {
            (MODEL, "request_success"): 2.0,
            (MODEL, "compute_infer_duration_us"): 3000.0,
        }
        figures = cell_figures(KEY, [Sample(1.0, (1.0,), counters=counters)] * 2)
        assert figures["stages"]["models"][MODEL]["compute_ms"] == 1.5
        assert figures["stages"]["own_ms"] == 1.5


def test_percentiles_lie_between_values() -> None:
    assert percentile([], 50) is None
    assert percentile([1.0, 2.0], 50) == 1.5


def test_bare_stages_are_medians_of_the_rounds() -> None:
    rounds = [[{"stage": "yolo", "rows": 1, "ms": ms}] for ms in (1.0, 9.0, 2.0)]
    assert bare_figures("street", rounds) == [
        {"picture": "street", "stage": "yolo", "rows": 1, "ms": 2.0}
    ]


class TestRatios:
    def found(self, cells: list, bare: list | None = None) -> dict:
        rows = ratios(cells, bare or [])
        return {(row["title"], row["concurrency"]): row["value"] for row in rows}

    def test_nothing_has_no_ratios(self) -> None:
        assert self.found([]) == {}

    def test_served_is_divided_by_the_bound_round_by_round(self) -> None:
        cells = [cell("http-encoded", 1, 8, 5, 9), cell("in-process", 1, 10, 10, 10)]
        assert self.found(cells) == {(SERVED, 1): 0.8}

    def test_a_run_that_ended_early_uses_the_rounds_that_both_have(self) -> None:
        cells = [cell("http-encoded", 1, 8, 5), cell("in-process", 1, 10)]
        assert self.found(cells) == {(SERVED, 1): 0.8}

    def test_spread_and_scaling_are_against_four_at_once(self) -> None:
        cells = [cell("http-encoded", 4, 10), cell("http-encoded", 16, 12)]
        assert self.found(cells) == {(SPREAD, 4): 1.5, (SCALING, 16): 1.2}

    def test_other_transports_have_none(self) -> None:
        assert self.found([cell("grpc", 4, 10), cell("in-process", 4, 10)]) == {}

    def test_one_call_is_set_against_its_parts(self) -> None:
        bare = [
            {"picture": "street", "stage": "decode", "rows": 1, "ms": 5.0},
            {"picture": "street", "stage": "yolo", "rows": 1, "ms": 60.0},
            {"picture": "other", "stage": "yolo", "rows": 1, "ms": 70.0},
        ]
        assert self.found([cell("http-encoded", 1, 10)], bare) == {(TAX, 1): 35.0}
        two_plates = cell("http-encoded", 1, 10, plates=2)
        assert self.found([two_plates], bare) == {}

    def test_a_cell_where_nothing_worked_has_none(self) -> None:
        failed = cell("http-encoded", 4, 0, p50_ms=None, p99_ms=None)
        assert self.found([failed, cell("in-process", 4, 0)]) == {}


class TestComparison:
    def test_only_cells_of_both_are_compared(self) -> None:
        new = [cell("grpc", 1, 20, p50_ms=50.0), cell("grpc", 2, 1)]
        old = [cell("grpc", 1, 10), cell("grpc", 4, 1)]
        (row,) = compared(new, old)
        assert (row["concurrency"], row["throughput"], row["p50_ms"]) == (1, 2, 0.5)
        assert row["cpu_s_per_call"] == 1

    def test_a_missing_figure_has_no_ratio(self) -> None:
        (row,) = compared([cell("grpc", 1, 1, cpu_s_per_call=None)], [cell("grpc", 1, 0)])
        assert (row["throughput"], row["cpu_s_per_call"]) == (None, None)

    def test_medians_are_by_transport(self) -> None:
        rows = compared(
            [cell("grpc", n, n, cpu_s_per_call=None) for n in (1, 2, 6)],
            [cell("grpc", n, 1) for n in (1, 2, 6)],
        )
        assert medians(rows) == {
            "grpc": {"throughput": 2, "p50_ms": 1, "cpu_s_per_call": None},
        }

    def test_what_differs_is_said(self) -> None:
        old = {
            "machine": {"cores": 4, "cpu": "A"},
            "settings": {"rounds": 3, "concurrencies": [1, 2]},
            "server": {"threads": 0},
            "pictures": [{"name": "street", "sha256": "1"}, {"name": "gone", "sha256": "2"}],
        }
        new = {
            "machine": {"cores": 2, "cpu": "A", "openvino": "2026"},
            "settings": {"rounds": 5, "concurrencies": [1]},
            "server": {"threads": 0},
            "pictures": [{"name": "street", "sha256": "9"}],
        }
        assert differences(new, old) == [
            "machine cores: 4 then, 2 now",
            "machine openvino: none then, 2026 now",
            "settings rounds: 3 then, 5 now",
            "picture street: another picture than then",
        ]
        assert differences(old, old) == []

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            pytest.param("{", "wanted a JSON report", id="half"),
            pytest.param("[]", "wanted a report of plates bench, got other JSON", id="list"),
            pytest.param('{"name": "ours"}', "wanted a report of plates bench", id="evaluation"),
            pytest.param('{"cells": [], "schema": 9}', "wanted schema 2, got 9", id="future"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "report.json"
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_report(path)

    def test_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="wanted a readable report, got No such file"):
            read_report(tmp_path / "report.json")

    def test_a_report_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "report.json"
        path.write_text(json.dumps({"cells": [], "schema": 2}))
        assert read_report(path) == {"cells": [], "schema": 2}
