"""Alert rules and dashboard of cameras: they parse, match the code, and are documented."""

import re

import yaml
from prometheus_client import CollectorRegistry, generate_latest

from plate_cameras.gates.status import GateStatus
from plate_cameras.sinks.sink_status import SinkStatus
from plate_cameras.store.store_parts import Disk, StorageStatus
from plate_cameras.watching.metrics import Snapshot, SnapshotCollector
from plate_cameras.watching.status import CameraStatus
from tests.deploy.manifests import KUBERNETES
from tests.deploy.test_monitoring import CAMERAS, METRICS, MONITORING, PARTS, read_rules

COMPONENT = KUBERNETES / "components" / "camera-monitoring"
USED = "\n".join([*(rule["expr"] for rule in read_rules("camera_rules.yaml")), CAMERAS.read_text()])


def read_metrics() -> dict[str, str]:
    """Return the metrics of `plates watch`: their kinds by name."""
    camera = CameraStatus("gate", "playing", 1, 1, 1, "", 1, 0.1, 0.1, 1, "")
    storage = StorageStatus(True, 1, {"spool": Disk(1, 2)})
    gates = (GateStatus("barrier"),)
    state = Snapshot((camera,), (SinkStatus("erp"),), gates=gates, storage=storage)
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(lambda: state))
    page = generate_latest(registry).decode()
    return dict(re.findall(r"^# TYPE (plates_\w+?)(?:_total)? (\w+)", page, re.MULTILINE))


def series_of(kinds: dict[str, str]) -> set[str]:
    parts = {**PARTS, "counter": ("_total",)}
    return {f"{name}{part}" for name, kind in kinds.items() for part in parts.get(kind, ("",))}


def test_only_series_that_are_exported_are_used() -> None:
    used_series = set(re.findall(r"\bplates_\w+", USED))
    assert "plates_camera_up" in used_series
    assert used_series - series_of(read_metrics()) == set()


def test_every_metric_is_explained() -> None:
    names = series_of({name: kind for name, kind in read_metrics().items() if kind != "histogram"})
    assert [name for name in sorted(names) if f"| `{name}`" not in METRICS] == []


def test_the_rules_ask_for_the_job_that_is_scraped() -> None:
    config = yaml.safe_load((MONITORING / "prometheus-cameras.yaml").read_text())
    jobs = {job["job_name"] for job in config["scrape_configs"]}
    asked_jobs = set(re.findall(r'up\{job=\\?"([\w-]+)', USED))
    assert asked_jobs == {"plates-watch"}
    assert asked_jobs < jobs
    assert config["rule_files"] == ["rules.yaml", "camera_rules.yaml"]


def test_the_operators_rules_are_those_of_prometheus() -> None:
    rule = yaml.safe_load((COMPONENT / "prometheusrule.yaml").read_text())
    rules = yaml.safe_load((MONITORING / "camera_rules.yaml").read_text())
    assert (rule["apiVersion"], rule["spec"]) == ("monitoring.coreos.com/v1", rules)


def test_watchers_are_scraped_as_the_job_of_the_alerts() -> None:
    monitor = yaml.safe_load((COMPONENT / "podmonitor.yaml").read_text())
    labels = monitor["spec"]["selector"]["matchLabels"]
    assert labels[monitor["spec"]["jobLabel"]] == "plates-watch"
    resources = yaml.safe_load((COMPONENT / "kustomization.yaml").read_text())["resources"]
    assert sorted(resources) == sorted(
        file.name for file in COMPONENT.glob("*.yaml") if file.name != "kustomization.yaml"
    )
