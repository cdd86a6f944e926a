"""Settings that a service is started with: plain, own mounts, faulty models, another clock."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.contract import DETECTOR, MODEL
from orchestrator.errors import PlateError
from orchestrator.networks.engines import Engine
from orchestrator.serving.supervisor.local_server import prepare
from orchestrator.serving.supervisor.models.model_repository import CONFIG, read_config
from orchestrator.serving.supervisor.models.plate_models import REPOSITORY
from orchestrator.serving.supervisor.models.repository_writer import lay_out
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.benchmarks.processes import SHM
from workshop.benchmarks.service import Launch

PLAIN, PRIVATE, HANGING, CLOCK = "plain", "private", "hanging", "clock"
BREAKING = {device: f"breaking on the {device}" for device in ("cpu", "gpu")}
SHM_SIZE, TMP_SIZE = "512m", "256m"
"""Sizes of /dev/shm, as in docs/docker.md, and of TMPDIR, little more than a service writes."""
READY = "ready"
HOLD = """
mount -t tmpfs -o mode=1777,size="$1" tmpfs "$2" &&
mount -t tmpfs -o mode=1777,size="$3" tmpfs "$4" &&
echo ready && exec sleep infinity
"""
BREAKING_MODELS = {
    MODEL: Path(__file__).with_name("breaking_model.py"),
    DETECTOR: Path(__file__).with_name("breaking_network.py"),
}
WALL_CLOCK = Path(__file__).with_name("wall_clock.c")
COMPILERS = ("cc", "gcc", "clang")
OFFSET_FILE = "WALL_CLOCK"
CPU = ("--device=cpu",)


class CannotBeMadeError(PlateError):
    """Raised for a fault that cannot be made on this machine."""


@contextmanager
def plain() -> Iterator[Launch]:
    """Give the launch of an ordinary service on the CPU."""
    yield Launch(flags=CPU)


@contextmanager
def private() -> Iterator[Launch]:
    """Give a launch with a private /dev/shm of 512 MB and a small private TMPDIR.

    Raises:
        CannotBeMadeError: This user has no right to mount.
    """
    with TemporaryDirectory(prefix="faults-tmp-") as tmp, _mounts(tmp) as holder:
        entry = ("nsenter", f"--mount=/proc/{holder}/ns/mnt", "--")
        root, audit = Path(f"/proc/{holder}/root"), Path(tmp, "audit.jsonl")
        yield Launch(entry, CPU, tmp=Path(tmp), root=root, audit=audit)


@contextmanager
def _mounts(tmp: str) -> Iterator[int]:
    """Start a process with its own mounts; return its ID."""
    if not all(map(shutil.which, ("unshare", "nsenter", "mount"))):
        raise CannotBeMadeError("there is no unshare, nsenter or mount")
    shell = ("sh", "-c", HOLD, "sh", SHM_SIZE, str(SHM), TMP_SIZE, tmp)
    holder = subprocess.Popen(
        ["unshare", "--mount", *shell],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        line = holder.stdout.readline().strip()
        if line != READY:
            raise CannotBeMadeError(f"no mounts of its own, which root may have: {line}")
        yield holder.pid
    finally:
        holder.kill()
        holder.communicate()


@contextmanager
def hanging() -> Iterator[Launch]:
    """Give a launch with a model that loops without end on one picture."""
    with TemporaryDirectory(prefix="faults-models-") as folder:
        models = shutil.copytree(REPOSITORY, Path(folder, "models"))
        shutil.copy(BREAKING_MODELS[MODEL], models / MODEL / "1" / "model.py")
        yield Launch(flags=(*CPU, "--model-repository", models))


@contextmanager
def breaking(device: str) -> Iterator[Launch]:
    """Give a launch with models whose workers break at pictures of certain sizes.

    On a CPU there is one worker of each model, which soon starts.
    """
    pictures = 1 if device == "cpu" else 0
    options = prepare(ServerOptions(device=device, engine=Engine.TORCHSCRIPT, pictures=pictures))
    with TemporaryDirectory(prefix="faults-models-") as folder:
        models = lay_out(options.source(), Path(folder, "models"), options.capacity())
        for name, file in BREAKING_MODELS.items():
            shutil.copy(file, models / name / "1" / "model.py")
        file = models / DETECTOR / CONFIG
        config = read_config(file)
        config.backend = "python"
        file.write_text(str(config), encoding="utf-8")
        yield Launch(flags=(f"--device={device}", "--threads=1", "--model-repository", models))


@contextmanager
def clock(compilers: Sequence[str] = COMPILERS) -> Iterator[Launch]:
    """Give a launch with a wall clock that can be made to jump.

    Raises:
        CannotBeMadeError: There is no C compiler.
    """
    compiler = next(filter(None, map(shutil.which, compilers)), None)
    if compiler is None:
        raise CannotBeMadeError("there is no C compiler to make another clock with")
    with TemporaryDirectory(prefix="faults-clock-") as folder:
        library, offset = Path(folder, "wall_clock.so"), Path(folder, "offset")
        files = ("-o", str(library), str(WALL_CLOCK), "-ldl")
        result = subprocess.run(
            [compiler, "-shared", "-fPIC", "-O2", *files],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise CannotBeMadeError(f"no other clock: {result.stderr.strip()}")
        set_offset(offset, 0)
        yield Launch(flags=CPU, variables={"LD_PRELOAD": str(library), OFFSET_FILE: str(offset)})


def set_offset(file: Path, seconds: int) -> None:
    """Set the clock that reads this file ahead by a number of seconds."""
    with file.open("r+b" if file.exists() else "wb", buffering=0) as stream:
        stream.write(seconds.to_bytes(8, sys.byteorder, signed=True))


SETTINGS: Mapping[str, Callable[[], AbstractContextManager[Launch]]] = {
    PLAIN: plain,
    PRIVATE: private,
    HANGING: hanging,
    CLOCK: clock,
    **{name: partial(breaking, device) for device, name in BREAKING.items()},
}
