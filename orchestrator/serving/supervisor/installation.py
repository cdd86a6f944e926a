"""Finds a tritonserver and its files: the one inside a wheel, or an installed one.

The project uses nothing else from the wheel `nvidia-pytriton`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ServerError

OUR_BACKENDS = Path(__file__).resolve().parents[2] / "triton" / "backends"
STUB = "triton_python_backend_stub"
PYTHON_BACKEND = ("libtriton_python.so", "triton_python_backend_utils.py")


@dataclass(frozen=True)
class Installation:
    """The locations of a server and of the files that it needs from this Python.

    Attributes:
        root: The folder with `bin/tritonserver` and `backends/python`.
        stub: The worker program for the running Python version.
        libraries: Folders the dynamic linker must search; empty when it finds all libraries itself.
    """

    root: Path
    stub: Path
    libraries: tuple[Path, ...] = ()

    @property
    def program(self) -> Path:
        return self.root / "bin" / "tritonserver"

    @property
    def backends(self) -> Path:
        return self.root / "backends"


def find_installation(tritonserver: Path | None = None) -> Installation:
    """Find a server.

    Args:
        tritonserver: Program of an installed server; None means the embedded one.

    Raises:
        ServerError: The program is missing, it has no worker for this Python version, or this
            Python has no shared libpython for the worker to load.
    """
    if tritonserver is not None:
        return _find_installed(tritonserver)
    spec = importlib.util.find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise ServerError(
            "tritonserver: wanted the package nvidia-pytriton, which is for Python 3.10 to 3.12, "
            f"got none installed for this Python {_version()}"
        )
    return _find_embedded(Path(spec.origin).parent / "tritonserver")


def _find_embedded(root: Path) -> Installation:
    stubs = root / "python_backend_stubs"
    stub = stubs / _version() / STUB
    if not stub.is_file():
        versions = ", ".join(sorted(folder.name for folder in stubs.iterdir()))
        raise ServerError(f"tritonserver: wanted a Python of {versions}, got {_version()}")
    libraries = (find_libpython().parent, root.parents[1] / "nvidia_pytriton.libs")
    return Installation(root, stub, libraries)


def _find_installed(tritonserver: Path) -> Installation:
    if not os.access(tritonserver, os.X_OK) or tritonserver.is_dir():
        raise ServerError(f"tritonserver: wanted a program that can be run, got {tritonserver}")
    root = tritonserver.resolve().parents[1]
    if (root / "python_backend_stubs").is_dir():  # only the embedded server has this folder
        return _find_embedded(root)
    stub = root / "backends" / "python" / STUB
    if not stub.is_file():
        raise ServerError(
            f"tritonserver: wanted one with a Python backend, got {tritonserver} without {stub}"
        )
    return Installation(root, stub)


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def find_libpython() -> Path:
    """Return the shared library of this Python.

    Raises:
        ServerError: It has none.
    """
    name = sysconfig.get_config_var("INSTSONAME") or sysconfig.get_config_var("LDLIBRARY") or ""
    if ".so" not in name:
        name = f"libpython{_version()}.so.1.0"
    # A Python that was moved after its build still names its first folder, perhaps one of another
    # user: then Path.is_file would raise.
    built_for = Path(sysconfig.get_config_var("LIBDIR") or "")
    for folder in (built_for, Path(sys.base_prefix, "lib")):
        if os.path.isfile(folder / name):  # noqa: PTH113
            return folder / name
    raise ServerError(
        f"tritonserver: wanted a Python with a shared libpython, got {sys.executable} without "
        f"{built_for / name}; on Debian and Ubuntu install the package {name.split('.so')[0]}, "
        "with pyenv build Python with --enable-shared"
    )


def lay_out_backends(installation: Installation, folder: Path) -> Path:
    """Return a folder with our backends, the server's Python backend and its other backends.

    Ours takes the place of a PyTorch backend of the server. The server's backend
    holds another PyTorch than the one that made the models, cannot be watched, and reports a wrong
    request as an error of the server.

    Triton refuses a link to a library outside its backend's folder, but follows a link to the whole
    folder. So the folder is linked if it contains the worker's program. Otherwise it is copied,
    which takes some megabytes. Programs cannot run from a copy on a disk that is mounted `noexec`:
    there, a link to the program is first put into the folder itself.

    Raises:
        ServerError: The folder can neither be copied to a usable place nor be completed.
    """
    backends = folder / "backends"
    backends.mkdir(parents=True)
    source, python = installation.backends / "python", backends / "python"
    if not has_stub(installation) and not _may_run_programs(folder):
        _require_stub(installation, folder)
    if has_stub(installation):
        python.symlink_to(source)
    else:
        python.mkdir()
        for file in (*(source / name for name in PYTHON_BACKEND), installation.stub):
            shutil.copy(file, python)
    for model in OUR_BACKENDS.glob("*/model.py"):
        (backends / model.parent.name).mkdir()
        shutil.copy(model, backends / model.parent.name)
    for backend in installation.backends.iterdir():  # for the operator's own models
        if backend.is_dir() and not (backends / backend.name).exists():
            (backends / backend.name).symlink_to(backend)
    return backends


def has_stub(installation: Installation) -> bool:
    """Tell whether the worker's program is beside the Python backend."""
    beside = installation.backends / "python" / STUB
    return beside.is_file() and beside.samefile(installation.stub)


def place_stub(installation: Installation) -> None:
    """Create a link to the worker's program beside the Python backend, if it is missing.

    Raises:
        OSError: The folder cannot be written.
    """
    folder = installation.backends / "python"
    with suppress(FileExistsError):
        (folder / STUB).symlink_to(os.path.relpath(installation.stub, folder))


def _require_stub(installation: Installation, folder: Path) -> None:
    try:
        place_stub(installation)
    except OSError as error:
        raise ServerError(
            f"{folder.parent}: wanted a folder from which programs may be run, got one that is "
            f"mounted noexec, and {error.filename2 or error.filename} cannot be written "
            f"({error.strerror}); TMPDIR names another folder"
        ) from error


def _may_run_programs(folder: Path) -> bool:
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC
