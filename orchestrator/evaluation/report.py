"""A report as files: JSON for machines, CSV for tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.evaluation.figures import Figures


def write_report(report: Figures, comparison: str, folder: Path) -> None:
    """Write `report.json` and, where reports were compared, `comparison.md`."""
    text = json.dumps(report, indent=2, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    if comparison:
        (folder / "comparison.md").write_text(comparison, encoding="utf-8")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows under a header; a file without rows has the header alone."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns)
        table.writeheader()
        table.writerows(rows)
