"""What a client alone does not need, and what is said where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

from orchestrator.errors import ExtraError

SERVER = ("torch", "openvino", "pytriton", "nvidia-pytriton", "PIL")
"""Packages that serving needs, as they are imported or installed."""
WORKSHOP = ("matplotlib", "psutil")
"""Packages that measuring needs beside them."""
EXTRA = "pip install -e '.[server]'"
BRINGS = {
    **dict.fromkeys(SERVER, EXTRA),
    **dict.fromkeys(WORKSHOP, "make workshop"),
    "cv2": f"pip install opencv-python-headless, or {EXTRA}",
}
"""What brings a missing package. No name of ours: on an index another's may bear it."""


@contextmanager
def needs_told() -> Iterator[None]:
    """Say how to get it where a package is missing that a client alone does not need.

    Raises:
        ExtraError: It is not installed.
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
    """See that packages are installed, without importing them: before work that ends with them.

    Raises:
        ExtraError: One is not.
    """
    with needs_told():
        for name in names:
            metadata.version(name)
