from dataclasses import replace

from evaluation.measurement import measure_detection, measure_reading
from evaluation.results import DataSets, Report
from evaluation.summary import write_comparison
from orchestrator.settings import Settings

BARE = Report("a", "in process", None, Settings(), {}, DataSets("", "", "", None), 0.0)


def test_figures_that_a_report_lacks_are_dashes() -> None:
    detection = replace(measure_detection([], 0.25), map50=0.5)
    table = write_comparison([replace(BARE, detection=detection), replace(BARE, name="b")])
    assert table.startswith("|  | a | b |\n")
    assert "| mAP50 | 0.500 | - |\n" in table
    assert "read exactly" not in table


def test_nothing_found_has_counts_and_no_rates() -> None:
    table = write_comparison([replace(BARE, reading=measure_reading([]))])
    assert "| standard plates | 0 |\n" in table
    assert "end to end" not in table
