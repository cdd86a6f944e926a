"""What every report says: the machine, tables, a file of figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.run import describe


def figure(value: float) -> str:
    """Write a figure with three digits that mean something, at most two after the point."""
    return f"{value:.{0 if abs(value) >= 99.5 else 1 if abs(value) >= 9.95 else 2}f}"


def numbers(text: str) -> tuple[int, ...]:
    """Parse `1,2,4`; what argparse says when it is something else is plain enough."""
    return tuple(int(part) for part in text.split(","))


def write(path: Path, figures: Mapping[str, Any]) -> None:
    """Write figures, with the machine, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"machine": describe(""), **figures}, indent=2, allow_nan=False)
    path.write_text(content + "\n", encoding="utf-8")
