import numpy as np
import pytest
import torch

from orchestrator.settings import Settings
from workshop.benchmarks.bench.server import Pipeline
from workshop.benchmarks.pictures import render
from workshop.benchmarks.stage_budgets import BUDGETS_MS, ROWS, list_exceeded, measure_round, show


def test_a_stage_above_its_budget_is_listed() -> None:
    at_budget = dict(BUDGETS_MS)
    assert list_exceeded(at_budget) == []
    assert list_exceeded(at_budget | {"texts": 0.81}) == ["texts"]


def test_the_table_has_the_least_and_the_median_time_of_each_stage() -> None:
    lines = [*show([dict.fromkeys(ROWS, ms) for ms in (3.0, 1.0, 2.5)])]
    assert [line.split()[0] for line in lines[1:]] == [*ROWS]
    assert lines[1].split() == ["picture", "1.00", "2.50"]
    assert lines[2].split() == ["letterbox", "1.00", "2.50", "0.6"]


def test_our_time_is_all_but_unpacking_and_the_networks() -> None:
    def infer(model, tensors):
        return {"output__0": np.zeros((1, 0, 6), np.float32)}

    pipeline = Pipeline(infer, Settings(), torch.device("cpu"))
    stages_ms = measure_round(pipeline, render(0, (320, 160)).file_bytes)
    ours = sum(ms for stage, ms in stages_ms.items() if stage not in ("picture", "yolo", "ours"))
    assert stages_ms["ours"] == pytest.approx(ours)
    assert min(stages_ms.values()) > 0
