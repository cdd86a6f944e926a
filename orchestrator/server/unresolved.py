"""For a worker's Python, whose paths have to be ASCII: a link stays unresolved where it leads away.

A package that resolves its own `__file__` would be at a path that is not ASCII again, from which
Python 3.12 loads no extension module (cv2). Each worker imports this at its start if its server
has such links; nothing else may.
"""

import os.path
from collections.abc import Callable
from typing import Any

resolve: Callable[..., Any] = os.path.realpath


def realpath(path: Any, **options: Any) -> Any:
    """Resolve links as `os.path.realpath` does, unless the outcome is not ASCII."""
    found = resolve(path, **options)
    return found if found.isascii() else os.path.abspath(path)  # noqa: PTH100


os.path.realpath = realpath  # type: ignore[assignment]
