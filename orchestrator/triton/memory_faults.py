"""Tells a lack of memory and a broken CUDA context by the texts of errors.

PyTorch, OpenVINO and Triton have no common class for them, and of a called model's error only the
text arrives. An error that may quote the request says nothing here: otherwise a request that names
a parameter "cuda error" would end its worker.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn

from orchestrator.errors import ModelError, Overloaded, PlateError

OUT_OF_MEMORY = ("out of memory", "allocate", "bad_alloc", "shared memory pool")
"""Texts of PyTorch on a GPU and on a CPU, of OpenVINO, and of Triton."""
BROKEN_CONTEXT = ("cuda error", "cuda driver error", "cublas_status", "cudnn_status", "device-side")
"""Texts of errors after which a process cannot use its GPU any more.

Source: CUDA runtime API, "Data types used by CUDA Runtime", cudaError: most errors of a kernel
leave the process in an inconsistent state, and it must end.
"""
QUOTING = (PlateError, ValueError, TypeError, LookupError)
"""Errors whose text may quote the request."""
OF_MODELS = (ModelError, Overloaded)
"""Errors of the project that have the text of a called model's error."""


def is_out_of_memory(error: Exception | str) -> bool:
    """Tell whether memory has run out, of this process or of a GPU."""
    return isinstance(error, MemoryError) or _holds(error, OUT_OF_MEMORY)


def has_broken_context(error: Exception | str) -> bool:
    """Tell whether the process that raised this error can use its GPU no longer."""
    return _holds(error, BROKEN_CONTEXT) and not is_out_of_memory(error)


def free_memory(error: Exception) -> None:
    """Give memory of a GPU to other processes, after a call has failed for lack of it.

    PyTorch keeps the memory of freed tensors for itself, so one large call could starve the others.
    The error's traceback keeps the call's own tensors, so their variables are cleared first. Other
    errors free nothing.
    """
    if not is_out_of_memory(error):
        return
    traceback.clear_frames(error.__traceback__)
    if torch := sys.modules.get("torch"):  # workers on a CPU do not import it
        torch.cuda.empty_cache()


def end_process(error: Exception) -> NoReturn:
    """End this worker at once, with one line in the log. The supervisor replaces it."""
    os.write(2, f"the CUDA context is broken, this worker ends: {error}\n".encode()[:2000])
    os._exit(1)


def _holds(error: Exception | str, texts: tuple[str, ...]) -> bool:
    if isinstance(error, QUOTING) and not isinstance(error, OF_MODELS):
        return False
    message = str(error).lower()
    return any(text in message for text in texts)
