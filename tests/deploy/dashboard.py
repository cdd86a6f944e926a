"""The panels of the Grafana dashboard, as far as tests look at them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

DASHBOARD = Path(__file__).resolve().parents[2] / "deploy/monitoring/grafana/dashboards/plates.json"
ALL = ".*"
"""Value of every variable of the dashboard when nothing is chosen."""


@dataclass(frozen=True)
class Panel:
    """A panel; queries are PromQL."""

    title: str
    kind: str
    queries: tuple[str, ...]


def read_panels() -> list[Panel]:
    """Read the panels that can be seen when the dashboard is opened."""
    return [
        Panel(
            entry["title"],
            entry["type"],
            tuple(target["expr"] for target in entry.get("targets", ())),
        )
        for entry in json.loads(DASHBOARD.read_text())["panels"]
    ]


def substitute(expr: str, rate_interval: str) -> str:
    """Replace the variables by Grafana's values when nothing is chosen."""
    return re.sub(r"\$\w+", ALL, expr.replace("$__rate_interval", rate_interval))
