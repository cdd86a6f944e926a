"""The Kubernetes objects that `kubectl kustomize` builds."""

import json
import shutil
import subprocess
from functools import cache
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.samples import PROJECT

KUBERNETES = PROJECT / "deploy" / "kubernetes"
CPU, GPU = "overlays/cpu", "overlays/gpu"
OVERLAYS = [pytest.param(CPU, id="cpu"), pytest.param(GPU, id="gpu")]
OLDEST_KUSTOMIZE = 5
SUFFIXES = {"": 1, "m": 1e-3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

Manifest = dict[str, Any]


@cache
def kubectl() -> str:
    """Return the path of kubectl; skip the test without a version that supports our files."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl: none on the PATH")
    version = subprocess.check_output([program, "version", "--client", "-o", "json"], text=True)
    kustomize = json.loads(version).get("kustomizeVersion", "v0")
    if int(kustomize.lstrip("v").split(".")[0]) < OLDEST_KUSTOMIZE:
        pytest.skip(f"kubectl: wanted kustomize {OLDEST_KUSTOMIZE} or later, got {kustomize}")
    return program


@cache
def build(folder: str) -> subprocess.CompletedProcess[str]:
    """Run `kubectl kustomize` on a folder of deploy/kubernetes."""
    command = [kubectl(), "kustomize", str(KUBERNETES / folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def objects(folder: str) -> tuple[Manifest, ...]:
    """Return every object of a folder. All tests share them and must not change them."""
    return tuple(yaml.safe_load_all(build(folder).stdout))


def find_object(folder: str, kind: str, name: str = "plates") -> Manifest:
    """Return the object of this kind and name."""
    (manifest,) = [
        entry
        for entry in objects(folder)
        if (entry["kind"], entry["metadata"]["name"]) == (kind, name)
    ]
    return manifest


def pod(folder: str) -> Manifest:
    """Return the specification of the Deployment's pods."""
    return find_object(folder, "Deployment")["spec"]["template"]["spec"]


def server(folder: str) -> Manifest:
    """Return the one container of the pods."""
    (container,) = pod(folder)["containers"]
    return container


def quantity(text: str) -> float:
    """Return a Kubernetes quantity as a number: `500m` is 0.5, `1Ki` is 1024."""
    number = text.rstrip("".join(SUFFIXES))
    return float(number) * SUFFIXES[text[len(number) :]]


def matches(selector: dict[str, str], labels: dict[str, str]) -> bool:
    """Tell whether a selector, which must not be empty, matches these labels."""
    return bool(selector) and selector.items() <= labels.items()


def schema_errors(manifest: Manifest, version: str) -> list[str]:
    """Return the errors of an object by Kubernetes' schema, a missing schema included."""
    kind = manifest["kind"]
    try:
        kubernetes_validate.validate(manifest, version, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return [f"{kind}: no schema"]
    except kubernetes_validate.ValidationError as error:
        return [f"{kind} {'.'.join(map(str, error.path))}: {error.message}"]
    return []
