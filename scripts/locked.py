#!/usr/bin/env python3
"""Print the packages of poetry.lock in an image, as requirements with hashes, for SBOM and audit.

usage: locked.py [cpu|gpu]

Neither cyclonedx-py nor pip-audit can read a poetry.lock whose project is described by PEP 621. The
output depends only on the lock, not on the machine or the Python version.
"""

from __future__ import annotations

import sys

from install import CUDA_ONLY, UNWANTED, marker_of, read_lock, requirement

LEFT_OUT = {"cpu": (), "gpu": ("nvidia-pytriton", "openvino")}  # as in Dockerfile
LINUX = {
    "extra": "server",
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "sys_platform": "linux",
}
MACHINES = ("x86_64", "aarch64")  # architectures of the images
PYTHON = {"cpu": "3.11", "gpu": "3.12"}  # versions in the base images


def main() -> None:
    """Print a line for each package."""
    image = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if image not in PYTHON:
        sys.exit(f"locked: wanted cpu or gpu, got {image}")
    for package in list_packages(read_lock(), image):
        print(requirement(package))


def list_packages(
    packages: list[dict], image: str, version: str = "", machine: str = MACHINES[0]
) -> list[dict]:
    """Return the locked packages of an image; of two versions the one with the closer marker.

    Args:
        packages: The packages of poetry.lock.
        image: `cpu` or `gpu`.
        version: Another Python than the image's, as `3.12`.
        machine: The architecture; it changes no package of an image, as a test says.
    """
    from pip._vendor.packaging.markers import Marker

    version = version or PYTHON[image]
    environment = {**LINUX, "python_version": version, "python_full_version": f"{version}.0"}
    environment["platform_machine"] = machine
    packages_by_name = {}
    for package in sorted(packages, key=lambda package: len(marker_of(package, ["main"]))):
        marker = marker_of(package, ["main"])
        if has_package(package, image) and (not marker or Marker(marker).evaluate(environment)):
            packages_by_name[package["name"]] = package
    return [packages_by_name[name] for name in sorted(packages_by_name)]


def has_package(package: dict, image: str) -> bool:
    """Tell whether an image contains a package at all."""
    name = package["name"]
    if "main" not in package["groups"] or name in UNWANTED or name in LEFT_OUT[image]:
        return False
    return image == "gpu" or name == "torch" or not CUDA_ONLY.match(name)


if __name__ == "__main__":
    main()
