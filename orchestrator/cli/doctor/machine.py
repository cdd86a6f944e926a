"""The facts about this machine and its packages that matter for a server."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError
from orchestrator.host import distribution
from orchestrator.host.resources import usable_cores, usable_memory
from orchestrator.networks.engines import CPU_INFO, INSTRUCTION_FLAGS, read_flags
from orchestrator.serving.supervisor.installation import find_libpython
from orchestrator.serving.supervisor.ports import ListenAddress, check_listening

PACKAGES = {
    "plates": (distribution.NAME,),
    "torch": ("torch",),
    "openvino": ("openvino",),
    "Triton's wheel": ("nvidia-pytriton",),
    "opencv": ("opencv-python-headless", "opencv-python", "opencv-contrib-python-headless"),
    "numpy": ("numpy",),
    "tritonclient": ("tritonclient",),
    "grpcio": ("grpcio",),
}
"""The packages whose versions are shown, and the names under which each may be installed."""
ASK_S = 5.0
"""Longest wait for NVIDIA's own program."""
QUERY = ("--query-gpu=name,driver_version", "--format=csv,noheader")


@dataclass(frozen=True)
class Port:
    """A port that a server wants.

    Attributes:
        problem: The reason why it cannot be bound; empty if it is free.
    """

    number: int
    problem: str


@dataclass(frozen=True)
class Machine:
    """The facts about a machine.

    Attributes:
        system: The operating system.
        python: The version of Python.
        libpython: The file of its shared library; empty if it has none.
        cpu: The name of the processor.
        cores: The cores that a server may keep busy.
        all_cores: The cores of the whole machine.
        instructions: The instructions of the CPU that make networks fast.
        memory_bytes: The memory of the whole machine.
        usable_bytes: The memory that a server may use, which a container may limit.
        shm_bytes: The shared memory.
        free_shm_bytes: The part of it that is free.
        ports: The ports that a server wants.
        gpus: The names of the GPUs, each with the version of its driver.
    """

    system: str
    python: str
    libpython: str
    cpu: str
    cores: int
    all_cores: int
    instructions: tuple[str, ...]
    memory_bytes: int
    usable_bytes: int
    shm_bytes: int
    free_shm_bytes: int
    ports: tuple[Port, ...]
    gpus: tuple[str, ...]


def describe_machine(listening: Sequence[ListenAddress]) -> Machine:
    """Describe this machine.

    Args:
        listening: The addresses that a server wants to listen on.
    """
    shm_bytes, free_shm_bytes = _measure_shared_memory(SHM)
    return Machine(
        system=_name_system(),
        python=platform.python_version(),
        libpython=_name_libpython(),
        cpu=name_cpu(),
        cores=usable_cores(),
        all_cores=os.cpu_count() or 1,
        instructions=tuple(
            name for name, flags in INSTRUCTION_FLAGS.items() if flags & {*read_flags()}
        ),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        usable_bytes=usable_memory(),
        shm_bytes=shm_bytes,
        free_shm_bytes=free_shm_bytes,
        ports=tuple(map(check_port, listening)),
        gpus=find_gpus(),
    )


def find_versions() -> dict[str, str | None]:
    """Return the version of each package that matters; None for one that is not installed."""
    return {name: _find_version(names) for name, names in PACKAGES.items()}


def _find_version(names: Sequence[str]) -> str | None:
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def check_port(address: ListenAddress) -> Port:
    """Check whether a port can be bound; nothing listens there afterwards."""
    try:
        check_listening([address])
    except ServerError as error:
        return Port(address.port, str(error))
    return Port(address.port, "")


def find_gpus() -> tuple[str, ...]:
    """Return the name and the driver of each GPU, by NVIDIA's program; none without it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    with suppress(OSError, subprocess.SubprocessError):
        process = subprocess.run(
            [program, *QUERY], capture_output=True, text=True, timeout=ASK_S, check=True
        )
        pairs = (line.rpartition(", ") for line in process.stdout.splitlines())
        return tuple(f"{name}, driver {driver}" for name, _, driver in pairs if name)
    return ()


def _name_system() -> str:
    name = ""
    with suppress(OSError):
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    kernel = f"{platform.system()} {platform.release()}"
    return ", ".join(filter(None, [name, kernel, platform.machine()]))


def _name_libpython() -> str:
    try:
        return find_libpython().name
    except ServerError:
        return ""


def name_cpu() -> str:
    """Return the name of the processor; its architecture where Linux tells none."""
    with suppress(OSError):
        for name in re.findall(r"^model name\s*: (.*)", CPU_INFO.read_text(), re.MULTILINE):
            return str(name)
    return platform.machine()


def _measure_shared_memory(folder: Path) -> tuple[int, int]:
    with suppress(OSError):
        usage = shutil.disk_usage(folder)
        return usage.total, usage.free
    return 0, 0
