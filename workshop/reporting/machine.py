"""The machine and the software of a measurement, as reports describe them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata

from orchestrator.cli.doctor.machine import name_cpu

PACKAGES = ("torch", "openvino", "numpy", "opencv-python-headless")


@dataclass(frozen=True)
class Machine:
    """A machine and its software.

    Attributes:
        cores: The number of cores that this process may use.
        gpu: The name of the first GPU; None without a GPU.
        triton: The version of the server; None without one.
    """

    cpu: str
    cores: int
    memory_bytes: int
    gpu: str | None
    system: str
    python: str
    triton: str | None
    packages: Mapping[str, str]


def _find_packages() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)


def describe_machine(triton: str = "") -> Machine:
    """Describe the machine that this runs on."""
    import torch  # takes seconds; reading an old report does not need it

    return Machine(
        cpu=name_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        system=platform.platform(),
        python=platform.python_version(),
        triton=triton or None,
        packages=dict(_find_packages()),
    )
