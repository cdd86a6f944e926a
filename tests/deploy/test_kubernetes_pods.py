"""The pods of deploy/kubernetes: resources, probes, rights, and a graceful shutdown."""

import inspect
import re
from dataclasses import replace

import pytest

from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.supervisor.capacity import Capacity, fitting, fitting_gpu
from orchestrator.serving.supervisor.models.plate_models import count_ours
from orchestrator.serving.supervisor.options import LONGER_ON_A_GPU, ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from tests.deploy.manifests import CPU, OVERLAYS, pod, quantity, server
from tests.samples import PROJECT

pytestmark = pytest.mark.parametrize("overlay", OVERLAYS)

MIB = 2**20
IDLE = 1000 * MIB
"""Measured memory of an idle server with two cores, including 64 MiB of /dev/shm."""
MAX_CALL_BYTES = 2.4 * Limits().body_bytes
"""Bytes of /dev/shm for one unpacked picture of the largest size; 2.4 were measured."""
SHM_OF_A_WORKER = 8 * MIB
CUDA_OF_A_WORKER = 1100 * MIB
"""Estimated memory of a worker with PyTorch for CUDA and a CUDA context."""
GATEWAY_S = 20
"""Longest time that the gateway needs to stop, with calls in work."""


def cores(overlay: str) -> int:
    return int(server(overlay)["resources"]["limits"]["cpu"])


def capacity(overlay: str) -> Capacity:
    """Return how many instances of the models there are in a pod."""
    if overlay == CPU:
        return fitting(cores(overlay))
    return fitting_gpu(cores(overlay))


def volume(overlay: str, mount_path: str) -> dict:
    """Return the emptyDir that the server has mounted at a path."""
    (name,) = [
        mount["name"]
        for mount in server(overlay)["volumeMounts"]
        if mount["mountPath"] == mount_path
    ]
    (mounted_volume,) = [volume for volume in pod(overlay)["volumes"] if volume["name"] == name]
    return mounted_volume["emptyDir"]


def size(overlay: str, mount_path: str) -> float:
    return quantity(volume(overlay, mount_path)["sizeLimit"])


def test_shared_memory_holds_every_worker_and_its_picture(overlay: str) -> None:
    fits = capacity(overlay)
    workers = count_ours(fits)
    start = workers * SHM_OF_A_WORKER
    assert volume(overlay, "/dev/shm")["medium"] == "Memory"
    assert size(overlay, "/dev/shm") >= start + fits.pictures * MAX_CALL_BYTES


def test_the_memory_limit_holds_server_and_shared_memory(overlay: str) -> None:
    limit = quantity(server(overlay)["resources"]["limits"]["memory"])
    networks = count_ours(replace(capacity(overlay), pictures=0))
    cuda = 0 if overlay == CPU else networks * CUDA_OF_A_WORKER
    assert limit >= 2 * IDLE + size(overlay, "/dev/shm") + cuda


def test_the_pod_runs_as_the_user_of_the_image(overlay: str) -> None:
    context = pod(overlay)["securityContext"]
    dockerfile = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
    users = set(re.findall(r"^USER (\S+)$", dockerfile, re.MULTILINE))
    assert users == {f"{context['runAsUser']}:{context['runAsGroup']}"}


def test_callers_need_a_key_of_the_secret(overlay: str) -> None:
    (keys,) = [entry for entry in pod(overlay)["volumes"] if entry["name"] == "keys"]
    (mount,) = [entry for entry in server(overlay)["volumeMounts"] if entry["name"] == "keys"]
    variables = {entry["name"]: entry["value"] for entry in server(overlay)["env"]}
    assert keys["secret"] == {"secretName": "plates-keys"}
    assert variables == {"PLATES_KEYS": f"{mount['mountPath']}/keys"}
    assert mount["readOnly"]


def test_a_start_may_take_as_long_as_the_server_allows_itself(overlay: str) -> None:
    probe = server(overlay)["startupProbe"]
    longest_s = ServerOptions().start_timeout_s * (1 if overlay == CPU else LONGER_ON_A_GPU)
    assert probe["periodSeconds"] * probe["failureThreshold"] > longest_s


def test_callers_are_led_away_before_the_server_ends(overlay: str) -> None:
    readiness = server(overlay)["readinessProbe"]
    sleep_s = server(overlay)["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert sleep_s >= 2 * readiness["periodSeconds"] * readiness["failureThreshold"]


def test_calls_in_work_are_finished_before_the_pod_is_killed(overlay: str) -> None:
    sleep_s = server(overlay)["lifecycle"]["preStop"]["sleep"]["seconds"]
    triton_s = inspect.signature(Server.stop).parameters["timeout_s"].default
    assert pod(overlay)["terminationGracePeriodSeconds"] >= sleep_s + GATEWAY_S + triton_s + 10


def test_no_container_sees_the_processes_of_another(overlay: str) -> None:
    """Otherwise the sidecars of a service mesh could read the server's memory."""
    assert not {"shareProcessNamespace", "hostPID", "hostIPC", "hostNetwork"} & pod(overlay).keys()
