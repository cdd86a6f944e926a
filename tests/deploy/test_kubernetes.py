"""The manifests of deploy/kubernetes: they build, are valid, and refer to each other correctly."""

import re

import pytest
import yaml

from deploy.helm_chart import make_chart
from orchestrator.cli.gateway_flags import GRPC_PORT, HTTP_PORT, METRICS_PORT
from tests.deploy.manifests import (
    OVERLAYS,
    Manifest,
    build,
    find_object,
    matches,
    objects,
    pod,
    schema_errors,
    server,
)
from tests.samples import PROJECT

SELECTING = {"Deployment", "PodDisruptionBudget", "Service", "NetworkPolicy"}
OF_THE_OPERATOR = {"ServiceMonitor: no schema", "PrometheusRule: no schema"}
"""Kinds of the Prometheus Operator; Kubernetes has no schema for them."""


def labels_of_pods(overlay: str) -> dict[str, str]:
    return find_object(overlay, "Deployment")["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("folder", ["base", "overlays/cameras", *OVERLAYS])
def test_it_builds_without_a_warning(folder: str) -> None:
    child = build(folder)
    assert (child.returncode, child.stderr) == (0, "")


@pytest.mark.parametrize("version", ["1.30", "1.37"])
@pytest.mark.parametrize("overlay", ["overlays/cameras", *OVERLAYS])
def test_every_object_is_valid(overlay: str, version: str) -> None:
    errors = [error for manifest in objects(overlay) for error in schema_errors(manifest, version)]
    assert set(errors) == OF_THE_OPERATOR


def selector_of(manifest: Manifest) -> dict[str, str]:
    spec = manifest["spec"]
    selector = spec["podSelector"] if "podSelector" in spec else spec["selector"]
    return selector.get("matchLabels", selector)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_selectors_find_the_pods(overlay: str) -> None:
    manifests = [manifest for manifest in objects(overlay) if manifest["kind"] in SELECTING]
    labels = labels_of_pods(overlay)
    assert {manifest["kind"] for manifest in manifests} == SELECTING
    rules = [rule["labelSelector"] for rule in pod(overlay)["topologySpreadConstraints"]]
    selectors = [
        *map(selector_of, manifests),
        *(rule["matchLabels"] for rule in rules),
    ]
    assert [selector for selector in selectors if not matches(selector, labels)] == []


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_container_has_the_ports_of_the_images_gateway(overlay: str) -> None:
    ports = {port["name"]: port["containerPort"] for port in server(overlay)["ports"]}
    assert ports == {"http": HTTP_PORT, "grpc": GRPC_PORT, "metrics": METRICS_PORT}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_services_and_policy_open_the_containers_ports(overlay: str) -> None:
    names = {port["name"] for port in server(overlay)["ports"]}
    services = [find_object(overlay, "Service", name)["spec"] for name in ("plates", "plates-grpc")]
    ingress = find_object(overlay, "NetworkPolicy")["spec"]["ingress"]
    assert {port["targetPort"] for service in services for port in service["ports"]} == names
    assert {port["port"] for rule in ingress for port in rule["ports"]} == names


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_is_scraped_once_as_the_job_of_the_alerts(overlay: str) -> None:
    monitor = find_object(overlay, "ServiceMonitor")
    scraped_service = find_object(overlay, "Service")
    grpc_service = find_object(overlay, "Service", "plates-grpc")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    assert matches(selector_of(monitor), scraped_service["metadata"]["labels"])
    assert not matches(selector_of(monitor), grpc_service["metadata"]["labels"])
    assert endpoint["port"] in {port["name"] for port in scraped_service["spec"]["ports"]}
    assert scraped_service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "plates"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_operators_rules_are_those_of_prometheus(overlay: str) -> None:
    rule = find_object(overlay, "PrometheusRule")
    source = (PROJECT / "deploy" / "monitoring" / "rules.yaml").read_text(encoding="utf-8")
    assert rule["apiVersion"] == "monitoring.coreos.com/v1"
    assert rule["spec"] == yaml.safe_load(source)


ACTION = re.compile(r"{{ (\S+)(?: \| quote)? }}")


def render(template: str, image: str) -> str:
    """Render the actions of our templates as Helm does; any other action is a KeyError."""
    values = {'"{{"': "{{", ".Values.image": f'"{image}"', ".Release.Service": "Helm"}
    return ACTION.sub(lambda action: values[action[1]], template)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_chart_renders_the_manifests_with_the_image_of_its_values(overlay: str) -> None:
    manifests = build(overlay).stdout
    files = make_chart(manifests)
    image = server(overlay)["image"]
    assert yaml.safe_load(files["values.yaml"]) == {"image": image}
    assert yaml.safe_load(files["Chart.yaml"])["version"] in image
    chart = render(files["templates/manifests.yaml"], "mirror/plates@sha256:0")
    expected = manifests.replace(image, "mirror/plates@sha256:0").replace(": kustomize", ": Helm")
    assert list(yaml.safe_load_all(chart)) == list(yaml.safe_load_all(expected))


def test_manifests_with_two_images_are_no_chart_of_ours() -> None:
    with pytest.raises(ValueError, match=r"wanted one image and a version, got \['a', 'b'\]"):
        make_chart("app.kubernetes.io/version: 1.0.0\n  image: a\n  image: b\n")
