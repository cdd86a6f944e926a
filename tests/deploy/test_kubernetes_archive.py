"""The RayJob of deploy/kubernetes/archive: valid as far as it can be known without a cluster."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import yaml

from orchestrator.cli.app import app
from tests.deploy.manifests import KUBERNETES, Manifest, quantity, schema_errors

JOB: Manifest = yaml.safe_load((KUBERNETES / "archive" / "rayjob.yaml").read_text(encoding="utf-8"))
DOCKERFILE = KUBERNETES / "archive" / "Dockerfile"
CLUSTER = JOB["spec"]["rayClusterSpec"]
HEAD, (WORKERS,) = CLUSTER["headGroupSpec"], CLUSTER["workerGroupSpecs"]
GROUPS = [pytest.param(HEAD, id="head"), pytest.param(WORKERS, id="workers")]
SPEC = {
    *("activeDeadlineSeconds", "backoffLimit", "clusterSelector", "deletionStrategy"),
    *("entrypoint", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "jobId"),
    *("managedBy", "metadata", "rayClusterSpec", "runtimeEnvYAML", "shutdownAfterJobFinishes"),
    *("submissionMode", "submitterConfig", "submitterPodTemplate", "suspend"),
    "ttlSecondsAfterFinished",
}
"""Fields of ray.io/v1 RayJob. Source: KubeRay 1.4, "API Reference"."""
HEAD_GROUP = {"rayStartParams", "template", "serviceType", "headService", "enableIngress"}
WORKER_GROUP = {
    *("groupName", "replicas", "minReplicas", "maxReplicas", "idleTimeoutSeconds", "numOfHosts"),
    *("rayStartParams", "template", "scaleStrategy", "suspend"),
}


def test_the_fields_are_those_of_kuberay() -> None:
    assert (JOB["apiVersion"], JOB["kind"]) == ("ray.io/v1", "RayJob")
    assert JOB["spec"].keys() <= SPEC
    assert CLUSTER.keys() == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert {"rayStartParams", "template"} <= HEAD.keys() <= HEAD_GROUP
    assert {"groupName", "rayStartParams", "template"} <= WORKERS.keys() <= WORKER_GROUP
    assert JOB["spec"]["submissionMode"] in {"K8sJobMode", "HTTPMode", "InteractiveMode"}
    assert WORKERS["minReplicas"] <= WORKERS["replicas"] <= WORKERS["maxReplicas"]


@pytest.mark.parametrize("group", GROUPS)
def test_start_parameters_are_texts(group: dict[str, Any]) -> None:
    assert all(isinstance(value, str) for value in group["rayStartParams"].values())


@pytest.mark.parametrize("version", ["1.30", "1.37"])
@pytest.mark.parametrize("group", GROUPS)
def test_pods_are_valid(group: dict[str, Any], version: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", **group["template"]}
    assert schema_errors(pod, version) == []


def test_the_command_is_one_of_ours_and_its_actors_have_cores() -> None:
    program, name, *arguments = shlex.split(JOB["spec"]["entrypoint"])
    command = typer.main.get_command(app)
    assert isinstance(command, click.Group)
    archive = command.get_command(click.Context(command), name)
    assert archive is not None
    given = archive.make_context(name, arguments).params
    (worker,) = WORKERS["template"]["spec"]["containers"]
    cores = WORKERS["replicas"] * quantity(worker["resources"]["limits"]["cpu"])
    assert program == "plates"
    assert (given["address"], given["actors"]) == ("auto", cores)


def test_the_image_has_the_manifests_ray() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert f'"ray[data,default]=={CLUSTER["rayVersion"]}"' in text


def test_hadolint_has_nothing_to_say_of_the_image() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
