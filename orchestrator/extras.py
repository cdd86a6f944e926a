"""What a client alone does not need, and what is said where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import ExtraError

SERVER = ("torch", "openvino", "pytriton", "nvidia-pytriton", "PIL")
"""Packages that serving needs, as they are imported or installed."""
EXTRA = "-e '.[server]'"
BRINGS = {
    **dict.fromkeys(SERVER, EXTRA),
    "cv2": f"opencv-python-headless, or {EXTRA}",
    "matplotlib": "matplotlib",
    "psutil": "psutil",
}
"""What pip is to install for a missing package. No name of ours: another's may bear it."""


@contextmanager
def needs_told() -> Iterator[None]:
    """Say how to get it where a package is missing that a client alone does not need.

    Raises:
        ExtraError: A package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in BRINGS:
            raise
        raise ExtraError(
            f"wanted the package {package}, got an installation for clients alone; "
            f"pip install {BRINGS[package]} in the checkout brings what is missing"
        ) from error
