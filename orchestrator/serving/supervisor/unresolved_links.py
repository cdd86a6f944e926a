"""Keeps links unresolved in a worker's Python when they lead to a path that is not ASCII.

A package that resolves its own `__file__` would get a path that is not ASCII again. Python 3.12
loads no extension module (cv2) from such a path. Each worker imports this module at its start if
its server has such links; no other code may import it.
"""

import os.path
from collections.abc import Callable
from typing import Any

resolve: Callable[..., Any] = os.path.realpath


def realpath(path: Any, **options: Any) -> Any:
    """Resolve links as `os.path.realpath` does, unless the result is not ASCII."""
    target = resolve(path, **options)
    return target if target.isascii() else os.path.abspath(path)  # noqa: PTH100


os.path.realpath = realpath  # type: ignore[assignment]
