"""The RayJob of deploy/kubernetes/archive, checked without a cluster."""

import shlex
from typing import Any

import click
import pytest
import typer
import yaml

from orchestrator.cli.app import app
from tests.deploy.manifests import KUBERNETES, matches, quantity, schema_errors

JOB, POLICY = yaml.safe_load_all(
    (KUBERNETES / "archive" / "rayjob.yaml").read_text(encoding="utf-8")
)
DOCKERFILE = KUBERNETES / "archive" / "Dockerfile"
CLUSTER = JOB["spec"]["rayClusterSpec"]
HEAD, (WORKERS,) = CLUSTER["headGroupSpec"], CLUSTER["workerGroupSpecs"]
GROUPS = [pytest.param(HEAD, id="head"), pytest.param(WORKERS, id="workers")]


@pytest.mark.parametrize("version", ["1.30", "1.37"])
@pytest.mark.parametrize("group", GROUPS)
def test_pods_are_valid(group: dict[str, Any], version: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", **group["template"]}
    assert schema_errors(pod, version) == []


def test_ray_wants_a_token() -> None:
    """The operator creates the secret, and has the token when it submits the job.

    Source: KubeRay 1.5.1, `authOptions`; Ray has tokens since 2.52.
    """
    assert CLUSTER["authOptions"] == {"mode": "token"}
    assert tuple(map(int, CLUSTER["rayVersion"].split("."))) >= (2, 52, 0)


@pytest.mark.parametrize("group", GROUPS)
def test_no_container_sets_ray_s_token_itself(group: dict[str, Any]) -> None:
    """A setting of our own would replace the operator's."""
    (container,) = group["template"]["spec"]["containers"]
    assert not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} & {
        variable["name"] for variable in container["env"]
    }


@pytest.mark.parametrize("group", GROUPS)
def test_the_policy_is_for_the_pods_of_the_cluster(group: dict[str, Any]) -> None:
    assert schema_errors(POLICY, "1.30") == []
    assert matches(
        POLICY["spec"]["podSelector"]["matchLabels"], group["template"]["metadata"]["labels"]
    )


def test_nobody_but_the_operator_reaches_the_cluster() -> None:
    among, operator = POLICY["spec"]["ingress"]
    assert among["from"] == [{"podSelector": POLICY["spec"]["podSelector"]}]
    (pods,) = operator["from"]
    assert pods["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "kuberay-operator"}
    (dashboard,) = operator["ports"]
    (head,) = HEAD["template"]["spec"]["containers"]
    assert dashboard["port"] in {port["containerPort"] for port in head["ports"]}


def test_the_command_is_one_of_ours_and_its_actors_have_cores() -> None:
    program, name, *arguments = shlex.split(JOB["spec"]["entrypoint"])
    command = typer.main.get_command(app)
    assert isinstance(command, click.Group)
    archive = command.get_command(click.Context(command), name)
    assert archive is not None
    options = archive.make_context(name, arguments).params
    (worker,) = WORKERS["template"]["spec"]["containers"]
    cores = WORKERS["replicas"] * quantity(worker["resources"]["limits"]["cpu"])
    assert program == "plates"
    assert (options["address"], options["actors"]) == ("auto", cores)


def test_the_image_has_the_manifests_ray() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert f'"ray[data,default]=={CLUSTER["rayVersion"]}"' in text
