"""x86-64 and ARM64: each has every locked package, and hardly a file names one of them."""

import importlib
import re
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from tests.samples import PROJECT

PYTHONS = [
    pytest.param("x86_64", (3, 10)),
    pytest.param("x86_64", (3, 11)),
    pytest.param("x86_64", (3, 12)),
    pytest.param("aarch64", (3, 11)),
    pytest.param("aarch64", (3, 12)),
]
NAMES = re.compile(r"x86|amd64|aarch64|arm64|\bavx|\bamx|vnni", re.IGNORECASE)
NAMING = {
    "orchestrator/networks/engines.py": "asks the CPU, if it is an x86",
    "orchestrator/networks/openvino_ir.py": "keeps prepared steps on an x86",
    "scripts/bundle.py": "has the option --machine",
    "scripts/install.py": "knows the oldest Python of each",
    "scripts/locked.py": "lists the architectures of the images",
}
"""The files of code that may name an architecture or its instructions, and why."""


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(PROJECT / "scripts")
    return PROJECT / "scripts"


@cache
def load(name: str) -> ModuleType:
    return importlib.import_module(name)


@cache
def lock() -> list[dict]:
    return load("install").read_lock()


def is_needed(package: dict, environment: dict[str, str]) -> bool:
    """Tell whether a machine needs a locked package for any group or extra."""
    markers = package.get("markers", "")
    by_group = markers if isinstance(markers, dict) else dict.fromkeys(package["groups"], markers)
    extras = ("server", *load("install").EXTRAS)
    return any(
        not (marker := by_group.get(group, ""))
        or any(Marker(marker).evaluate({**environment, "extra": extra}) for extra in extras)
        for group in package["groups"]
    )


def tags_of(machine: str, python: tuple[int, int]) -> set[Tag]:
    """Return the tags of the wheels that a machine with glibc 2.35 takes."""
    platforms = [f"{tag}_{machine}" for tag in load("bundle").TAGS]
    interpreter = f"cp{python[0]}{python[1]}"
    return {
        *cpython_tags(python, platforms=platforms),
        *compatible_tags(python, interpreter, platforms),
    }


def has_wheel(package: dict, tags: set[Tag]) -> bool:
    names = (file["file"] for file in package["files"] if file["file"].endswith(".whl"))
    return any(tags & parse_wheel_filename(name)[3] for name in names)


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize(("machine", "python"), PYTHONS)
def test_every_locked_package_has_a_wheel(machine: str, python: tuple[int, int]) -> None:
    """Without one, pip would compile the package, and most machines cannot."""
    version, tags = f"{python[0]}.{python[1]}", tags_of(machine, python)
    environment = {
        **load("locked").LINUX,
        "platform_machine": machine,
        "python_version": version,
        "python_full_version": f"{version}.0",
    }
    packages = [package for package in lock() if is_needed(package, environment)]
    assert len(packages) > 100
    assert [package["name"] for package in packages if not has_wheel(package, tags)] == []


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize("image", ["cpu", "gpu"])
def test_an_image_has_the_same_packages_on_each(image: str) -> None:
    """SBOM and audit are of both."""
    locked = load("locked")
    x86, arm = (locked.list_packages(lock(), image, machine=name) for name in locked.MACHINES)
    assert x86 == arm


def test_only_few_files_name_an_architecture() -> None:
    """Whatever names one holds for one: a path, a flag, a URL, the platform of an image."""
    kinds = ("*.py", "*.sh", "Makefile", "Dockerfile", "deploy", ".ci", "plate_cameras")
    result = subprocess.run(
        ["git", "ls-files", *kinds], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    files = [PROJECT / name for name in result.stdout.splitlines() if "tests/" not in name]
    naming = {
        str(file.relative_to(PROJECT))
        for file in files
        if NAMES.search(re.sub(r"^\s*#.*", "", file.read_text(errors="ignore"), flags=re.MULTILINE))
    }
    assert naming == {*NAMING}
