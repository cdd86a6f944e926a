"""What the Grafana dashboard shows: its panels, and what Prometheus answers to their queries."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ServerError
from orchestrator.loopback import open_url

DASHBOARD = Path(__file__).resolve().parents[1] / "deploy/monitoring/grafana/dashboards/plates.json"
ALL = ".*"
"""What every variable of the dashboard stands for when nothing was chosen."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Query:
    """A query of a panel.

    Attributes:
        expr: PromQL with the dashboard's variables.
        legend: Name of each series, with labels as `{{label}}`.
    """

    expr: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """A panel as far as it is drawn; positions are cells of Grafana's grid, 24 wide.

    Attributes:
        scheme: Colours of a heat map.
        is_closed: A row whose panels are folded away.
        limits: Value from which each colour of the thresholds holds; the first is None.
    """

    title: str
    kind: str
    x: int
    y: int
    w: int
    h: int
    description: str = ""
    unit: str = "none"
    scheme: str = ""
    is_stacked: bool = False
    is_closed: bool = False
    least: float | None = None
    most: float | None = None
    limits: tuple[tuple[float | None, str], ...] = ()
    queries: tuple[Query, ...] = ()


@dataclass(frozen=True)
class Line:
    """A series that Prometheus answered with: float64 [T] minutes since the start, and values.

    All lines of a span have the same minutes; where a series has no value, it is NaN.
    """

    name: str
    labels: Mapping[str, str]
    minutes: Floats
    values: Floats


def panels(path: Path = DASHBOARD) -> list[Panel]:
    """Read the panels that can be seen when the dashboard is opened."""
    return [_panel(entry) for entry in json.loads(path.read_text(encoding="utf-8"))["panels"]]


def _panel(entry: Mapping[str, Any]) -> Panel:
    defaults = entry.get("fieldConfig", {}).get("defaults", {})
    options = entry.get("options", {})
    steps = defaults.get("thresholds", {}).get("steps", [])
    return Panel(
        title=entry["title"],
        kind=entry["type"],
        **entry["gridPos"],
        description=entry.get("description", ""),
        unit=options.get("yAxis", defaults).get("unit", "none"),
        scheme=options.get("color", {}).get("scheme", ""),
        is_closed=entry.get("collapsed", False),
        is_stacked="stacking" in defaults.get("custom", {}),
        least=defaults.get("min"),
        most=defaults.get("max"),
        limits=tuple((step["value"], step["color"]) for step in steps),
        queries=tuple(
            Query(target["expr"], target.get("legendFormat", ""))
            for target in entry.get("targets", [])
        ),
    )


def substituted(expr: str, rate_interval: str) -> str:
    """Put in what Grafana puts in for the variables when nothing was chosen."""
    return re.sub(r"\$\w+", ALL, expr.replace("$__rate_interval", rate_interval))


@dataclass(frozen=True)
class Span:
    """What to ask for: from, to, and the distance of two points, in seconds of Unix time."""

    start: float
    end: float
    step_s: float
    rate_interval: str


def answer(url: str, query: Query, span: Span) -> list[Line]:
    """Ask Prometheus for a query's series.

    Raises:
        ServerError: Prometheus does not answer, or cannot use the query.
    """
    parameters = {
        "query": substituted(query.expr, span.rate_interval),
        "start": span.start,
        "end": span.end,
        "step": span.step_s,
    }
    address = f"{url}/api/v1/query_range?{urllib.parse.urlencode(parameters)}"
    try:
        with open_url(address, timeout_s=30) as response:
            found = json.load(response)["data"]["result"]
    except OSError as error:
        raise ServerError(f"{url}: wanted an answer to {query.expr}, got {error}") from error
    return [line_of(series, query.legend, span) for series in found]


def line_of(series: Mapping[str, Any], legend: str, span: Span) -> Line:
    """Put a series of Prometheus' answer on the points that were asked for."""
    labels = series["metric"]
    name = re.sub(r"{{\s*(\w+)\s*}}", lambda match: labels.get(match[1], ""), legend)
    times, known = np.array(series["values"], dtype=np.float64).T
    offsets_s = np.arange(0, span.end - span.start + span.step_s / 2, span.step_s)
    values = np.full(len(offsets_s), np.nan)
    values[np.searchsorted(offsets_s, times - span.start - span.step_s / 2)] = known
    return Line(name.strip(), labels, offsets_s / 60, values)
