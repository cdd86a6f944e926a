"""What a report says about the machine and the software it was measured on."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

from orchestrator.networks.engines import CPU_INFO

PACKAGES = ("torch", "openvino", "numpy", "opencv-python-headless")


@dataclass(frozen=True)
class Machine:
    """A machine and its software.

    Attributes:
        cpu: Name of the processor.
        cores: That this process may use.
        memory_bytes: Of the whole machine.
        gpu: Name of the first one; None without.
        system: Operating system.
        python: Version.
        triton: Version of the server; None without one.
        packages: Versions by name.
    """

    cpu: str
    cores: int
    memory_bytes: int
    gpu: str | None
    system: str
    python: str
    triton: str | None
    packages: Mapping[str, str]


def describe_machine(triton: str = "") -> Machine:
    """Describe the machine that this runs on.

    Args:
        triton: Version of the server; empty without one.
    """
    import torch  # takes seconds, and reading an old report needs none

    names = re.findall(r"^model name\s*: (.*)", CPU_INFO.read_text(), re.MULTILINE)
    return Machine(
        cpu=next(iter(names), platform.machine()),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        system=platform.platform(),
        python=platform.python_version(),
        triton=triton or None,
        packages={name: metadata.version(name) for name in PACKAGES},
    )
