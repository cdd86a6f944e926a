from dataclasses import replace

from orchestrator.settings import Settings
from workshop.evaluation.measurement import measure_reading
from workshop.evaluation.results import DataSets, Report
from workshop.evaluation.summary import write_comparison

BARE = Report("a", "in process", {}, Settings(), {}, DataSets("", "", "", None), 0.0)


def test_nothing_found_has_counts_and_no_rates() -> None:
    table = write_comparison([replace(BARE, reading=measure_reading([]))])
    assert "| standard plates | 0 |\n" in table
    assert "end to end" not in table
