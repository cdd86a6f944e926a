"""Prometheus' rules, their own tests and the dashboard: they parse, hold and fit the code."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.serving.gateway.ops.metrics import Metrics
from orchestrator.serving.gateway.policy.admission import Counts
from orchestrator.triton.metrics import FAMILIES
from tests.deploy.dashboard import DASHBOARD
from tests.samples import PROJECT

MONITORING = PROJECT / "deploy" / "monitoring"
CAMERAS = MONITORING / "grafana" / "dashboards" / "cameras.json"
RUNBOOK = (PROJECT / "docs" / "monitoring.md").read_text(encoding="utf-8")
METRICS = (PROJECT / "docs" / "metrics.md").read_text(encoding="utf-8")

TESTS = {
    "rules.yaml": ("rules_test.yaml", "drift_test.yaml"),
    "camera_rules.yaml": ("camera_rules_test.yaml", "camera_week_test.yaml"),
}
"""Files of rules, and files of their tests."""


def read_rules(file: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((MONITORING / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def read_cases(rules: str) -> list[dict[str, Any]]:
    """Return the cases in the tests of a file of rules."""
    return [
        case
        for name in TESTS[rules]
        for test in yaml.safe_load((MONITORING / name).read_text())["tests"]
        for case in test["promql_expr_test"]
    ]


RULES = read_rules("rules.yaml")
RECORDED = [rule["record"] for rule in RULES if "record" in rule]
PAGE = Metrics(lambda: Counts(0, 0, 0, 0, 0)).render().decode()
GATEWAY = dict(re.findall(r"^# TYPE (\w+) (\w+)", PAGE, re.MULTILINE))
FIRING = 'ALERTS{{alertname="{}", alertstate="firing"'
PARTS = {"histogram": ("_bucket", "_sum", "_count")}
USED = "\n".join([*(rule["expr"] for rule in RULES), DASHBOARD.read_text()])


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    if not program:
        pytest.skip("promtool: none on the PATH; it is in the package prometheus")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)


def find_losses(original: object, copy: object, where: str = "") -> list[str]:
    """Return the parts of a JSON value that another one lacks or changes."""
    if isinstance(original, dict) and isinstance(copy, dict):
        return [
            name
            for key in original
            for name in find_losses(original[key], copy.get(key, f"no {key}"), f"{where}.{key}")
        ]
    if isinstance(original, list) and isinstance(copy, list) and len(original) == len(copy):
        pairs = zip(original, copy, strict=True)
        return [
            name
            for index, (first, second) in enumerate(pairs)
            for name in find_losses(first, second, f"{where}[{index}]")
        ]
    return [] if original == copy else [where]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        *(("rules", rules) for rules in TESTS),
        ("config", "prometheus.yaml"),
        ("config", "prometheus-cameras.yaml"),
    ],
)
def test_prometheus_takes_the_file(command: str, file: str) -> None:
    child = promtool("check", command, MONITORING / file)
    assert child.returncode == 0, child.stderr


@pytest.mark.parametrize("file", [name for names in TESTS.values() for name in names])
def test_the_rules_do_what_their_tests_say(file: str) -> None:
    child = promtool("test", "rules", MONITORING / file)
    assert child.returncode == 0, child.stdout + child.stderr


@pytest.mark.parametrize("rules", TESTS)
def test_groups_that_use_each_other_have_an_order(rules: str) -> None:
    """Groups are evaluated in a random order where a test names none."""
    groups = [group["name"] for group in yaml.safe_load((MONITORING / rules).read_text())["groups"]]
    orders = [
        yaml.safe_load((MONITORING / name).read_text()).get("group_eval_order", groups[:1])
        for name in TESTS[rules]
    ]
    assert orders == [groups] * len(orders)


@pytest.mark.parametrize("rules", TESTS)
def test_every_alert_is_seen_to_fire_and_tells_what_to_do(rules: str) -> None:
    alerts = {rule["alert"]: rule for rule in read_rules(rules) if "alert" in rule}
    samples = str([case["exp_samples"] for case in read_cases(rules)])
    runbooks = {name: rule["annotations"]["runbook"] for name, rule in alerts.items()}
    assert [name for name in alerts if FIRING.format(name) not in samples] == []
    assert runbooks == {name: f"docs/monitoring.md#{name.lower()}" for name in alerts}
    assert [name for name in alerts if f"\n### {name}\n" not in RUNBOOK] == []


def test_every_recorded_series_is_tested() -> None:
    exprs = "\n".join(case["expr"] for case in read_cases("rules.yaml") if case["exp_samples"])
    assert [record for record in RECORDED if record not in exprs] == []


def test_the_rules_ask_for_the_job_that_is_scraped() -> None:
    (job,) = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())["scrape_configs"]
    assert set(re.findall(r'up\{job="(\w+)"\}', USED)) == {job["job_name"]}


def test_only_series_that_are_exported_are_used() -> None:
    kinds = {**GATEWAY, **{family.name: family.kind.lower() for family in FAMILIES}}
    series = {f"{name}{part}" for name, kind in kinds.items() for part in PARTS.get(kind, ("",))}
    assert set(re.findall(r"\bplates_\w+", USED)) <= series


def test_only_reasons_that_the_gateway_counts_are_asked_for() -> None:
    known_reasons = set(re.findall(r'reason="([^"]+)"', PAGE))
    patterns = re.findall(r'(?:calls:rate5m|calls_total)\{[^}]*reason=~?\\?"([^"\\]+)', USED)
    assert patterns
    assert {reason for pattern in patterns for reason in pattern.split("|")} <= known_reasons


def test_every_reason_of_the_gateway_is_explained() -> None:
    rows = " ".join(re.findall(r"^\| (`[^|]+) \|", METRICS, re.MULTILINE))
    assert set(re.findall(r'reason="([^"]+)"', PAGE)) <= set(re.findall(r"`([^`]+)`", rows))


def test_only_series_that_are_recorded_are_used() -> None:
    assert set(re.findall(r"\bplates:[\w:]+", USED)) <= set(RECORDED)


def test_every_metric_is_explained() -> None:
    names = [*(family.name for family in FAMILIES), *GATEWAY, *RECORDED]
    assert [name for name in names if f"| `{name}" not in METRICS] == []


@pytest.fixture(params=[DASHBOARD, CAMERAS], ids=lambda file: file.stem)
def dashboard(request: pytest.FixtureRequest) -> str:
    return request.param.read_text()


def test_the_dashboard_says_nothing_that_grafana_does_not_know(dashboard: str) -> None:
    pytest.importorskip("grafana_foundation_sdk", reason="Grafana's SDK needs Python 3.11")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    original = json.loads(dashboard)
    copy = json.loads(JSONEncoder().encode(Dashboard.from_json(original)))
    assert find_losses(original, copy) == []


def test_no_two_panels_share_a_place_or_a_number(dashboard: str) -> None:
    panels = json.loads(dashboard)["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in panels})


def test_the_panels_queries_parse(dashboard: str, tmp_path: Path) -> None:
    """Each is checked by promtool as a recording rule."""
    texts = re.findall(r'"expr": ("(?:[^"\\]|\\.)+")', dashboard)
    exprs = [json.loads(text).replace("$__rate_interval", "1m") for text in texts]
    assert len(exprs) > 20
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(exprs)]
    file = tmp_path / "panels.yaml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    child = promtool("check", "rules", file)
    assert child.returncode == 0, child.stderr
