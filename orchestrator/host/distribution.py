"""The installed distribution of the project, and the packages that only some of its parts need.

The package for import is `orchestrator`. On the public package index, that name belongs to others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

from orchestrator.errors import ExtraError

SERVER = (
    "torch",
    "openvino",
    "pytriton",
    "nvidia-pytriton",
    "PIL",
    "starlette",
    "uvicorn",
    "httptools",
    "uvloop",
    "pydantic",
    "orjson",
    "prometheus_client",
)
"""Packages that serving needs, by their names for import or installation."""
WORKSHOP = ("matplotlib", "psutil")
"""Packages that measuring needs in addition."""
GPU_DECODING = ("nvidia", "nvidia-nvimgcodec-cu13", "nvidia-nvjpeg")
"""Packages that decoding on a GPU needs in addition."""
EXTRA = "pip install -e '.[server]'"
BRINGS = {
    **dict.fromkeys(SERVER, EXTRA),
    **dict.fromkeys(WORKSHOP, "make workshop"),
    **dict.fromkeys(GPU_DECODING, "pip install -e '.[gpu-decoding]'"),
    "cv2": f"pip install opencv-python-headless, or {EXTRA}",
}
"""The command that installs each package. None names a package of ours: on a package index, the
name may belong to somebody else."""
NAME = "plates-orchestrator"


def read_version() -> str:
    """Return the version of the installed distribution; pyproject.toml sets it."""
    return metadata.version(NAME)


@contextmanager
def explain_missing_package() -> Iterator[None]:
    """Raise an error with the command to install a missing package that a client does not need.

    Raises:
        ExtraError: The package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in BRINGS:
            raise
        raise ExtraError(
            f"the package {package} is not installed, since a client needs none; "
            f"{BRINGS[package]} in the checkout brings it"
        ) from error


def check_packages(*names: str) -> None:
    """Check that packages are installed, without importing them, before long work that needs them.

    Raises:
        ExtraError: A package is not installed.
    """
    with explain_missing_package():
        for name in names:
            metadata.version(name)
