"""Monitoring of a real server by a real Prometheus: series, panels and rules."""

import math
import re
import time
from collections.abc import Iterator

import pytest

from orchestrator import PlateClient
from orchestrator.errors import RequestError
from tests.deploy.dashboard import Panel, read_panels, substitute
from tests.integration.conftest import GREY, InFront
from tests.integration.shared_server.prometheus import SCRAPE_S, ask, read, watch
from tests.samples import PROJECT, STREET
from tests.waiting import until

USED = "".join(
    (PROJECT / "deploy" / "monitoring" / file).read_text()
    for file in ("rules.yaml", "grafana/dashboards/plates.json")
)
OF_TLS = {"plates_gateway_certificate_expires_in_seconds"}
"""Series of a gateway with a certificate. This one has none; tests/serving/gateway covers them."""
SHOWN = [pytest.param(panel, id=panel.title) for panel in read_panels() if panel.kind != "row"]


def send_one_of_each(gateway: InFront) -> None:
    """Send requests for every counter: plates, a picture without plates, and an invalid file."""
    with PlateClient(str(gateway.options.http)) as client:
        client.recognize(STREET)
        client.recognize(GREY)
        with pytest.raises(RequestError):
            client.recognize(b"no picture")
    with (
        PlateClient(f"http://{gateway.options.triton_http}") as straight,
        pytest.raises(RequestError),
    ):
        straight.recognize(b"no picture")  # which the gateway keeps from the model


@pytest.fixture(scope="module")
def prometheus(gateway: InFront) -> Iterator[str]:
    """URL of a Prometheus that has scraped metrics before and after requests."""
    with watch(gateway.options.metrics.port) as url:
        yield url


@pytest.fixture(scope="module")
def period(gateway: InFront, prometheus: str) -> dict[str, float]:
    """A period in which Prometheus scraped the server before and after requests."""
    begin = time.time()
    send_one_of_each(gateway)
    sent_at = time.time()
    until(lambda: looks_since(prometheus, sent_at) >= 2, "two looks of Prometheus at the server")
    return {"start": begin, "end": time.time(), "step": SCRAPE_S}


def test_every_series_that_is_looked_at_is_exported(gateway: InFront) -> None:
    send_one_of_each(gateway)
    series = set(
        re.findall(r"^(\w+)[{ ]", read(f"http://{gateway.options.metrics}/metrics"), re.MULTILINE)
    )
    assert set(re.findall(r"\b(?:plates_|nv_(?!gpu_))\w+", USED)) <= series | OF_TLS


def looks_since(prometheus: str, moment: float) -> int:
    query = f"count_over_time(up[{max(1, int(time.time() - moment))}s])"
    results = ask(prometheus, "query", query=query)["data"]["result"]
    return int(results[0]["value"][1]) if results else 0


@pytest.mark.parametrize("panel", SHOWN)
def test_every_panel_has_something_to_show(
    prometheus: str, period: dict[str, float], panel: Panel
) -> None:
    answers = [
        ask(prometheus, "query_range", query=substitute(query, "16s"), **period)
        for query in panel.queries
    ]
    series = [result for answer in answers for result in answer["data"]["result"]]
    assert any(math.isfinite(float(value)) for result in series for _, value in result["values"])


def test_prometheus_evaluates_every_rule(prometheus: str) -> None:
    """The rules are queried one by one; Prometheus evaluates some only a minute after its start."""
    groups = ask(prometheus, "rules")["data"]["groups"]
    rules = [rule["query"] for group in groups for rule in group["rules"]]
    answers = [ask(prometheus, "query", query=rule) for rule in rules]
    assert rules
    assert [answer["status"] for answer in answers] == ["success"] * len(rules)
