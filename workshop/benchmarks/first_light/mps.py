"""Runs NVIDIA's Multi-Process Service (MPS): kernels of several processes run on a GPU at once.

Source: NVIDIA, "Multi-Process Service"; nvidia-cuda-mps-control(1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.errors import ServerError

PROGRAM = "nvidia-cuda-mps-control"
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
DEFAULT_PIPES = "/tmp/nvidia-mps"
CONTROL = "control"
"""The file that a running daemon has in its folder of pipes."""
TIMEOUT_S = 30.0


def has_mps() -> bool:
    """Tell whether the daemon's program is installed."""
    return shutil.which(PROGRAM) is not None


@contextmanager
def run_mps() -> Iterator[Mapping[str, str]]:
    """Run the daemon for the length of a `with` block; give the variables for its clients.

    A daemon that runs already is used, and left as it is.

    Raises:
        ServerError: The daemon cannot be started.
    """
    if Path(os.environ.get(PIPES, DEFAULT_PIPES), CONTROL).exists():
        yield {}
        return
    with TemporaryDirectory(prefix="mps-") as folder:
        variables = {PIPES: f"{folder}/pipes", LOGS: f"{folder}/logs"}
        for made in variables.values():
            Path(made).mkdir()
        _control(["-d"], "", variables)
        try:
            yield variables
        finally:
            _control([], "quit\n", variables)


def _control(options: list[str], said: str, variables: Mapping[str, str]) -> None:
    # The daemon goes on and keeps what it inherits, so its messages go to a file, not a pipe.
    messages = Path(variables[LOGS], "messages")
    with messages.open("ab") as file:
        try:
            done = subprocess.run(
                [PROGRAM, *options], input=said, text=True, stdout=file, stderr=file,
                env={**os.environ, **variables}, timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise ServerError(f"{PROGRAM}: no such program; NVIDIA's driver brings it") from error
        except subprocess.TimeoutExpired as error:
            raise ServerError(f"{PROGRAM}: wanted its end in {TIMEOUT_S:g} s") from error
    if done.returncode:
        raise ServerError(f"{PROGRAM}: {messages.read_text(errors='replace').strip()}")
