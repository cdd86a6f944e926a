"""Metric of the autoscaler of deploy/kubernetes, computed from the gateway's gauges."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import CPU, GPU, KUBERNETES, OVERLAYS, Manifest, find_object
from tests.samples import PROJECT

RULES = PROJECT / "deploy" / "monitoring" / "rules.yaml"

GAUGES = """\
rule_files: [{rules}]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {{series: 'plates_gateway_waiting{{namespace="plates",pod="full"}}', values: 4x40}}
      - {{series: 'plates_gateway_in_work{{namespace="plates",pod="full"}}', values: 5x40}}
      - {{series: '{pending},pod="full"}}', values: 2x40}}
      - {{series: 'plates_gateway_waiting{{namespace="plates",pod="fitting"}}', values: 0x40}}
      - {{series: 'plates_gateway_in_work{{namespace="plates",pod="fitting"}}', values: 11x40}}
      - {{series: '{pending},pod="fitting"}}', values: 1x40}}
      - {{series: 'plates_gateway_waiting{{namespace="plates",pod="idle"}}', values: 0x40}}
      - {{series: 'plates_gateway_in_work{{namespace="plates",pod="idle"}}', values: 0x40}}
      - {{series: '{pending},pod="idle"}}', values: 0x40}}
    promql_expr_test:
      - expr: {query}
        eval_time: 8m
        exp_samples:
          - {{labels: '{{pod="full"}}', value: 2}}
          - {{labels: '{{pod="fitting"}}', value: 0.1}}
          - {{labels: '{{pod="idle"}}', value: 0}}
"""
"""The adapter's metrics of gateway and Triton: two pods at work, one idle."""
PENDING = 'nv_inference_pending_request_count{model="plate_recognition",namespace="plates"'


def adapter_rule() -> Manifest:
    values = yaml.safe_load((KUBERNETES / "prometheus-adapter.yaml").read_text(encoding="utf-8"))
    (rule,) = values["rules"]["custom"]
    return rule


def adapter_query(rule: Manifest, pods: list[str]) -> str:
    """Return the adapter's query to Prometheus for the autoscaler's metric."""
    series = rule["seriesQuery"].partition("{")[0]
    values = {
        "<<.Series>>": series,
        "<<.LabelMatchers>>": f'namespace="plates",pod=~"{"|".join(pods)}"',
        "<<.GroupBy>>": "pod",
    }
    return re.sub(r"<<.*?>>", lambda match: values[match[0]], rule["metricsQuery"])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_deployment_is_scaled_and_leaves_its_replicas_to_that(overlay: str) -> None:
    deployment = find_object(overlay, "Deployment")
    assert find_object(overlay, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"] == {
        "apiVersion": deployment["apiVersion"],
        "kind": deployment["kind"],
        "name": deployment["metadata"]["name"],
    }
    assert "replicas" not in deployment["spec"]


def test_one_pod_may_be_evicted_and_another_still_serves() -> None:
    scaler = find_object(CPU, "HorizontalPodAutoscaler")["spec"]
    max_unavailable = find_object(CPU, "PodDisruptionBudget")["spec"]["maxUnavailable"]
    assert scaler["minReplicas"] - max_unavailable >= 1


def test_one_gpu_is_enough_to_start_and_to_update() -> None:
    assert find_object(GPU, "HorizontalPodAutoscaler")["spec"]["minReplicas"] == 1
    assert find_object(GPU, "Deployment")["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_autoscaler_can_add_pods(overlay: str) -> None:
    scaler = find_object(overlay, "HorizontalPodAutoscaler")["spec"]
    assert scaler["minReplicas"] < scaler["maxReplicas"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_autoscaler_goes_by_the_adapters_metric(overlay: str) -> None:
    metrics = find_object(overlay, "HorizontalPodAutoscaler")["spec"]["metrics"]
    (queue,) = [metric["pods"] for metric in metrics if metric["type"] == "Pods"]
    assert queue["metric"]["name"] == adapter_rule()["name"]["as"]


def test_the_adapter_renames_the_recorded_series() -> None:
    rule = adapter_rule()
    series = rule["seriesQuery"].partition("{")[0]
    assert f"record: {series}\n" in RULES.read_text(encoding="utf-8")
    assert re.fullmatch(rule["name"]["matches"], series)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool: none on the PATH")
def test_prometheus_answers_the_adapter_for_busy_and_idle_pods(tmp_path: Path) -> None:
    test = tmp_path / "test.yaml"
    query = adapter_query(adapter_rule(), ["full", "fitting", "idle"])
    test.write_text(GAUGES.format(rules=RULES, query=query, pending=PENDING), encoding="utf-8")
    run = subprocess.run(["promtool", "test", "rules", test], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
