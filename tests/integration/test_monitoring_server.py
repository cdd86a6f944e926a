"""What the monitoring looks at is what a real server exports and a real Prometheus makes of it."""

import json
import re
import shutil
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dashboard_panels import Panel, Span, answer, panels
from benchmarks.dashboard_picture import SCRAPE_S, watching
from orchestrator import PlateClient
from orchestrator.errors import RequestError
from orchestrator.server.process import Server
from tests.waiting import until

PROJECT = Path(__file__).resolve().parents[2]
STREET = PROJECT / "tests" / "data" / "street.jpg"
USED = "".join(
    (PROJECT / "deploy" / "monitoring" / file).read_text()
    for file in ("rules.yaml", "grafana/dashboards/plates.json")
)
SHOWN = [pytest.param(panel, id=panel.title) for panel in panels() if panel.kind != "row"]


def send_one_of_each(server: Server) -> None:
    """Let every counter count: plates, a picture without one, and what is no picture."""
    with PlateClient(server.options.http_url) as client:
        client.recognize(STREET)
        client.recognize(np.full((300, 400, 3), 128, np.uint8))
        with pytest.raises(RequestError):
            client.recognize(b"no picture")


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


@pytest.fixture(scope="module")
def exported(server: Server) -> set[str]:
    """Names of the series on the metrics port."""
    send_one_of_each(server)
    return set(re.findall(r"^(\w+)[{ ]", read(server.options.metrics_url), re.MULTILINE))


@pytest.fixture(scope="module")
def prometheus(server: Server) -> Iterator[str]:
    """URL of a Prometheus that saw requests come."""
    if not shutil.which("prometheus"):
        pytest.skip("prometheus: none on the PATH; it is Debian's package of that name")
    with watching(server.options.metrics_port) as url:
        yield url


@pytest.fixture(scope="module")
def seen(server: Server, prometheus: str) -> Span:
    """A time in which Prometheus looked at the server before and after requests came."""
    begin = time.time()
    send_one_of_each(server)
    sent = time.time()
    until(lambda: looks_since(prometheus, sent) >= 2, "two looks of Prometheus at the server")
    return Span(begin, time.time(), SCRAPE_S, rate_interval="16s")


def looks_since(prometheus: str, moment: float) -> int:
    query = f"count_over_time(up[{max(1, int(time.time() - moment))}s])"
    found = json.loads(read(asked(prometheus, query)))["data"]["result"]
    return int(found[0]["value"][1]) if found else 0


def asked(prometheus: str, query: str) -> str:
    return f"{prometheus}/api/v1/query?query={urllib.parse.quote(query)}"


def test_every_series_of_ours_that_is_looked_at_is_exported(exported: set[str]) -> None:
    assert set(re.findall(r"\bplates_\w+", USED)) <= exported


def test_every_series_of_triton_that_is_looked_at_is_exported(exported: set[str]) -> None:
    on_any_machine = set(re.findall(r"\bnv_(?!gpu_)\w+", USED))
    assert on_any_machine
    assert on_any_machine <= exported


@pytest.mark.parametrize("panel", SHOWN)
def test_every_panel_has_something_to_show(prometheus: str, seen: Span, panel: Panel) -> None:
    lines = [line for query in panel.queries for line in answer(prometheus, query, seen)]
    assert any(np.isfinite(line.values).any() for line in lines)


def test_prometheus_evaluates_every_rule(prometheus: str) -> None:
    """Asked one by one: Prometheus itself gets to some of them a minute after its start."""
    groups = json.loads(read(f"{prometheus}/api/v1/rules"))["data"]["groups"]
    rules = [rule["query"] for group in groups for rule in group["rules"]]
    answers = [json.loads(read(asked(prometheus, rule))) for rule in rules]
    assert rules
    assert [answer["status"] for answer in answers] == ["success"] * len(rules)
