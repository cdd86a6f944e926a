"""The panels of the Grafana dashboard, as far as tests look at them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DASHBOARD = Path(__file__).resolve().parents[2] / "deploy/monitoring/grafana/dashboards/plates.json"
ALL = ".*"
"""What every variable of the dashboard stands for when nothing was chosen."""


@dataclass(frozen=True)
class Panel:
    """A panel; positions are cells of Grafana's grid, 24 wide, and queries are PromQL."""

    title: str
    kind: str
    x: int
    y: int
    w: int
    h: int
    description: str
    queries: tuple[str, ...]


def panels() -> list[Panel]:
    """Read the panels that can be seen when the dashboard is opened."""
    return [_panel(entry) for entry in json.loads(DASHBOARD.read_text())["panels"]]


def _panel(entry: Mapping[str, Any]) -> Panel:
    return Panel(
        title=entry["title"],
        kind=entry["type"],
        **entry["gridPos"],
        description=entry.get("description", ""),
        queries=tuple(target["expr"] for target in entry.get("targets", [])),
    )


def substitute(expr: str, rate_interval: str) -> str:
    """Put in what Grafana puts in for the variables when nothing was chosen."""
    return re.sub(r"\$\w+", ALL, expr.replace("$__rate_interval", rate_interval))
