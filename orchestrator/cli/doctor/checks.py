"""Finds hindrances to the start of a server on this machine, without starting one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from orchestrator.cli.doctor.machine import Machine
from orchestrator.errors import ExtraError, PlateError, ServerError, SettingsError
from orchestrator.host import distribution
from orchestrator.host.distribution import EXTRA
from orchestrator.serving.supervisor.gpu import explain_no_gpu
from orchestrator.serving.supervisor.installation import (
    Installation,
    find_installation,
    lay_out_backends,
)
from orchestrator.serving.supervisor.models.export_cache import plan_export
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.preflight import (
    check_files,
    check_localhost,
    check_memory,
    check_shared_memory,
)
from orchestrator.serving.supervisor.server_folder import writing

TRITON = "nvidia-pytriton"
OPENCV = "opencv-python-headless"
LAST_PYTHON = (3, 12)
"""The last Python that Triton's wheel is for."""
RUN_S = 10.0
"""Longest run of tritonserver to print its help, which takes 0.05 s."""
NOT_LOADED = 127
"""Exit code of the dynamic linker where it does not find a library."""
READ = "docs/troubleshooting.md says what to do"
RESTORE = "git restore weights model_repository brings back what a checkout has there"


def find_missing_packages() -> list[str]:
    """Return the packages that serving needs and that are not installed."""
    lines = metadata.requires(distribution.NAME) or ()
    requirements = (line for line in lines if re.search(r"extra == .server", line))
    names = [re.split(r"[^\w.-]", line)[0] for line in requirements]
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    if name == OPENCV:  # or any other build of it
        return find_spec("cv2") is not None
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def find_hindrances(options: ServerOptions, machine: Machine) -> Iterator[str]:
    """Yield what hinders a start, each as a sentence that says what to do.

    Args:
        options: Options of the server, whose device is no GPU where packages are missing.
        machine: The machine.
    """
    missing_packages = find_missing_packages()
    if missing_packages:
        yield from _report(lambda: _refuse(missing_packages))
    if TRITON not in missing_packages or sys.version_info[:2] > LAST_PYTHON:
        yield from _report(lambda: check_triton())
    yield from _report(lambda: check_localhost(options))
    yield from (port.problem for port in machine.ports if port.problem)
    yield from _report(lambda: check_memory(options, machine.usable_bytes))
    yield from _report(lambda: check_shared_memory(options))
    yield from _report(lambda: check_files(options))
    if not missing_packages:
        yield from _report(lambda: find_exports(options), RESTORE)


def find_notes(options: ServerOptions, machine: Machine) -> Iterator[str]:
    """Yield what hinders no start, and is good to know. All packages must be installed."""
    try:
        exports = find_exports(options)
    except PlateError:  # a hindrance
        exports = []
    if exports:
        yield f"the first start exports {', '.join(exports)}, which takes up to a minute"
    if not options.on_gpu():
        yield (
            "plates serve --one-model answers more pictures on a CPU; docs/compositions.md says "
            "when to take it"
        )
    if machine.gpus and not options.on_gpu():
        yield f"the CPU is used, not the GPU: {explain_cpu()}"


def _report(check: Callable[[], object], advice: str = READ) -> Iterator[str]:
    """Yield the error of a check, with an advice if it has none of its own."""
    try:
        check()
    except PlateError as error:
        yield str(error) if ";" in str(error) else f"{error}; {advice}"


def _refuse(packages: list[str]) -> None:
    raise ExtraError(
        f"packages: wanted {', '.join(packages)} for serving, got none; {EXTRA} in the checkout "
        "brings them"
    )


def check_triton() -> None:
    """Check that tritonserver is there and runs, and that its backends can be laid out.

    Raises:
        ServerError: It is not, does not, or they cannot.
    """
    installation = find_installation()
    check_program(installation)
    with writing(), tempfile.TemporaryDirectory() as folder:
        lay_out_backends(installation, Path(folder))


def check_program(installation: Installation) -> None:
    """Check that the program of an installation can be run.

    Raises:
        ServerError: It cannot; slim images leave out libraries that it needs.
    """
    library_path = os.environ.get("LD_LIBRARY_PATH", "")
    folders = [*map(str, installation.libraries), *filter(None, [library_path])]
    try:
        result = subprocess.run(
            [installation.program, "--help"],
            env={**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=RUN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no end within {RUN_S:.0f} s"
        raise ServerError(f"tritonserver: cannot be run: {reason}") from error
    if result.returncode == NOT_LOADED:
        reason = result.stderr.strip().removeprefix(f"{installation.program}: ")
        raise ServerError(
            f"tritonserver: {reason}; on Debian and Ubuntu apt-file search NAME finds its package"
        )
    if result.returncode < 0:
        raise ServerError(
            f"tritonserver: wanted its help, got signal {-result.returncode}: this CPU or kernel "
            "is not one that Triton's wheel is built for"
        )


def explain_cpu() -> str:
    """Return why a GPU that is there is not used."""
    build = metadata.version("torch")
    if build.endswith("+cpu"):
        return (
            f"torch {build} has no CUDA; python3 scripts/install.py --torch cuda in the checkout "
            "brings the build that has"
        )
    return explain_no_gpu() or "CUDA_VISIBLE_DEVICES hides it"


def find_exports(options: ServerOptions) -> list[str]:
    """Return the networks that the next start exports first.

    Raises:
        SettingsError: The models are missing, or exports cannot be written.
        WeightsError: The weights cannot be used.
    """
    if not options.repository.is_dir():
        raise SettingsError(
            f"model repository: wanted that of a checkout, got no {options.repository}; start in a "
            "checkout of the project, or name a repository with --model-repository"
        )
    return [*plan_export(options.source(), spare=Path(tempfile.gettempdir()))]
