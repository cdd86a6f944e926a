"""The watchers of deploy/kubernetes, and the control room beside the server."""

from typer.testing import CliRunner

from orchestrator.cli.app import app
from tests.deploy.manifests import Manifest, find_object, matches, quantity

OVERLAY, WATCHER = "overlays/cameras", "plates-watcher"
FILE = "CAMERAS.toml"


def pods() -> Manifest:
    return find_object(OVERLAY, "Deployment", WATCHER)["spec"]["template"]


def watcher() -> Manifest:
    (container,) = pods()["spec"]["containers"]
    return container


def server() -> Manifest:
    (container,) = find_object(OVERLAY, "Deployment")["spec"]["template"]["spec"]["containers"]
    return container


def policy(name: str) -> Manifest:
    return find_object(OVERLAY, "NetworkPolicy", name)["spec"]


def test_selectors_find_watchers_and_no_server() -> None:
    labels = pods()["metadata"]["labels"]
    server_labels = find_object(OVERLAY, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        find_object(OVERLAY, "Deployment", WATCHER)["spec"]["selector"]["matchLabels"],
        find_object(OVERLAY, "PodDisruptionBudget", WATCHER)["spec"]["selector"]["matchLabels"],
        policy(WATCHER)["podSelector"]["matchLabels"],
        pods()["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ]
    assert [selector for selector in selectors if not matches(selector, labels)] == []
    assert [selector for selector in selectors if matches(selector, server_labels)] == []


def test_the_command_has_the_options_that_the_watcher_gets() -> None:
    program, *words = watcher()["command"]
    help_text = CliRunner().invoke(app, [words[0], "--help"], env={"COLUMNS": "200"}).output
    options = {arg.partition("=")[0] for arg in watcher()["args"]}
    assert program == "plates"
    assert "--share" in options
    assert [option for option in options if option not in help_text] == []


def test_both_find_the_file_of_cameras_where_the_secret_is_mounted() -> None:
    paths = {mount["name"]: mount["mountPath"] for mount in watcher()["volumeMounts"]}
    assert watcher()["command"][-1] == f"{paths['cameras']}/{FILE}"
    paths = {mount["name"]: mount["mountPath"] for mount in server()["volumeMounts"]}
    assert server()["args"] == [f"--cameras={paths['cameras']}/{FILE}"]


def test_the_image_is_the_one_with_the_packages_of_cameras() -> None:
    assert watcher()["image"] == server()["image"]
    assert watcher()["image"].endswith("-cameras")


def test_watchers_may_call_the_server_and_prometheus_may_call_them() -> None:
    (callers, _) = policy("plates")["ingress"]
    selector = callers["from"][0]["podSelector"]["matchLabels"]
    assert matches(selector, pods()["metadata"]["labels"])
    (scrape,) = policy(WATCHER)["ingress"]
    assert scrape["ports"] == [{"protocol": "TCP", "port": "metrics"}]
    assert [port["name"] for port in watcher()["ports"]] == ["metrics"]


def test_nobody_reaches_the_metadata_of_the_cloud() -> None:
    rules = [*policy(WATCHER)["egress"], *policy("plates")["egress"]]
    blocks = [peer["ipBlock"] for rule in rules for peer in rule["to"] if "ipBlock" in peer]
    assert len(blocks) == 2
    assert all(block["except"] == ["169.254.0.0/16"] for block in blocks)


def test_the_spool_fits_into_the_disk_of_the_pod() -> None:
    (tmp,) = [volume for volume in pods()["spec"]["volumes"] if volume["name"] == "tmp"]
    limit = quantity(watcher()["resources"]["limits"]["ephemeral-storage"])
    assert 2**30 < quantity(tmp["emptyDir"]["sizeLimit"]) < limit


def test_an_eviction_leaves_other_watchers() -> None:
    max_unavailable = find_object(OVERLAY, "PodDisruptionBudget", WATCHER)["spec"]["maxUnavailable"]
    assert find_object(OVERLAY, "Deployment", WATCHER)["spec"]["replicas"] - max_unavailable >= 2
