"""The manifests of deploy/kubernetes: they build, are valid, and their parts find each other."""

from collections import Counter

import pytest
import yaml

from orchestrator.server.options import ServerOptions
from tests.deploy.manifests import (
    CPU,
    OVERLAYS,
    PROJECT,
    Manifest,
    build,
    objects,
    one,
    pod,
    schema_errors,
    selected,
    server,
)

KINDS = Counter(
    {
        "Deployment": 1,
        "Service": 2,
        "ServiceAccount": 1,
        "HorizontalPodAutoscaler": 1,
        "PodDisruptionBudget": 1,
        "NetworkPolicy": 1,
        "ServiceMonitor": 1,
        "PrometheusRule": 1,
    }
)
OF_THE_OPERATOR = {"ServiceMonitor: no schema", "PrometheusRule: no schema"}
"""Kinds of the Prometheus Operator, which Kubernetes has no schema of; looked at by tests here."""


def labels_of_pods(overlay: str) -> dict[str, str]:
    return one(overlay, "Deployment")["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("folder", [pytest.param("base", id="base"), *OVERLAYS])
def test_it_builds_without_a_warning(folder: str) -> None:
    built = build(folder)
    assert (built.returncode, built.stderr) == (0, "")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_is_missing_or_there_twice(overlay: str) -> None:
    assert Counter(manifest["kind"] for manifest in objects(overlay)) == KINDS


@pytest.mark.parametrize("version", ["1.30", "1.35", "1.36", "1.37"])
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_is_valid(overlay: str, version: str) -> None:
    errors = [error for manifest in objects(overlay) for error in schema_errors(manifest, version)]
    assert set(errors) == OF_THE_OPERATOR


def test_a_misspelt_field_is_an_error() -> None:
    service = one(CPU, "Service")
    misspelt = {**service, "spec": {**service["spec"], "selectors": {}}}
    assert "'selectors' was unexpected" in schema_errors(misspelt, "1.37")[0]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_namespace_is_left_to_the_operator(overlay: str) -> None:
    assert [m for m in objects(overlay) if "namespace" in m["metadata"]] == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_has_the_standard_labels(overlay: str) -> None:
    wanted = {"app.kubernetes.io/name": "plates", "app.kubernetes.io/part-of": "plates"}
    assert [m for m in objects(overlay) if not selected(wanted, m["metadata"]["labels"])] == []


def of_workload(manifest: Manifest) -> dict[str, str]:
    return manifest["spec"]["selector"]["matchLabels"]


def of_service(manifest: Manifest) -> dict[str, str]:
    return manifest["spec"]["selector"]


def of_policy(manifest: Manifest) -> dict[str, str]:
    return manifest["spec"]["podSelector"]["matchLabels"]


@pytest.mark.parametrize(
    ("kind", "name", "selector_of"),
    [
        pytest.param("Deployment", "plates", of_workload, id="deployment"),
        pytest.param("PodDisruptionBudget", "plates", of_workload, id="disruption-budget"),
        pytest.param("Service", "plates", of_service, id="service"),
        pytest.param("Service", "plates-grpc", of_service, id="headless-service"),
        pytest.param("NetworkPolicy", "plates", of_policy, id="network-policy"),
    ],
)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_selectors_find_the_pods(overlay: str, kind: str, name: str, selector_of) -> None:
    assert selected(selector_of(one(overlay, kind, name)), labels_of_pods(overlay))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_are_spread_over_nodes_and_zones(overlay: str) -> None:
    spread = {rule["topologyKey"]: rule for rule in pod(overlay)["topologySpreadConstraints"]}
    assert spread.keys() == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    selectors = [rule["labelSelector"]["matchLabels"] for rule in spread.values()]
    assert all(selected(selector, labels_of_pods(overlay)) for selector in selectors)
    assert {rule["whenUnsatisfiable"] for rule in spread.values()} == {"ScheduleAnyway"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_container_has_the_ports_that_the_server_listens_on(overlay: str) -> None:
    options = ServerOptions()
    assert {port["name"]: port["containerPort"] for port in server(overlay)["ports"]} == {
        "http": options.http_port,
        "grpc": options.grpc_port,
        "metrics": options.metrics_port,
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize(
    ("name", "ports"),
    [
        pytest.param("plates", {"http": 8000, "metrics": 8002}, id="http"),
        pytest.param("plates-grpc", {"grpc": 8001}, id="grpc"),
    ],
)
def test_services_lead_to_named_ports(overlay: str, name: str, ports: dict[str, int]) -> None:
    found = one(overlay, "Service", name)["spec"]["ports"]
    assert {port["targetPort"]: port["port"] for port in found} == ports


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_grpc_callers_get_the_addresses_of_all_ready_pods(overlay: str) -> None:
    service = one(overlay, "Service", "plates-grpc")["spec"]
    assert service["clusterIP"] == "None"
    assert not service.get("publishNotReadyAddresses")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_listed_callers_reach_the_pods(overlay: str) -> None:
    policy = one(overlay, "NetworkPolicy")["spec"]
    callers, monitoring = policy["ingress"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for port in callers["ports"]} == {"http", "grpc"}
    assert [*callers["from"][0], *callers["from"][1]] == ["podSelector", "namespaceSelector"]
    assert all(peer["matchLabels"] for entry in callers["from"] for peer in entry.values())
    assert [port["port"] for port in monitoring["ports"]] == ["metrics"]
    assert monitoring["from"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    ]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_reach_names_and_the_trace_collector_alone(overlay: str) -> None:
    egress = one(overlay, "NetworkPolicy")["spec"]["egress"]
    assert all(rule["to"] for rule in egress)
    assert [[port["port"] for port in rule["ports"]] for rule in egress] == [[53, 53], [4318]]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_is_scraped_once_as_the_job_of_the_alerts(overlay: str) -> None:
    monitor = one(overlay, "ServiceMonitor")
    scraped, other = one(overlay, "Service"), one(overlay, "Service", "plates-grpc")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    assert selected(of_workload(monitor), scraped["metadata"]["labels"])
    assert not selected(of_workload(monitor), other["metadata"]["labels"])
    assert endpoint["port"] in {port["name"] for port in scraped["spec"]["ports"]}
    assert scraped["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "plates"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_operators_rules_are_those_of_prometheus(overlay: str) -> None:
    rule = one(overlay, "PrometheusRule")
    source = (PROJECT / "deploy" / "monitoring" / "rules.yaml").read_text(encoding="utf-8")
    assert rule["apiVersion"] == "monitoring.coreos.com/v1"
    assert rule["spec"] == yaml.safe_load(source)
