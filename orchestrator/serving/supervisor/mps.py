"""Runs NVIDIA's Multi-Process Service (MPS): kernels of several processes run on a GPU at once.

Source: NVIDIA, "Multi-Process Service"; nvidia-cuda-mps-control(1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import ServerError
from orchestrator.host.locked_folders import LockedFolder
from orchestrator.host.subprocesses import ignore_stops, without_secrets
from orchestrator.serving.supervisor.gpu import VISIBLE
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.server_folder import writing

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
def with_mps(options: ServerOptions) -> Iterator[ServerOptions]:
    """Run MPS for the length of a `with` block, if a server asks for it; give its options.

    Raises:
        ServerError: The daemon cannot be started.
    """
    if not options.uses_mps:
        yield options
        return
    with run_mps() as variables:
        yield replace(options, variables={**options.variables, **variables})


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
    with writing():
        owned = LockedFolder.make("mps-")
    try:
        variables = {PIPES: f"{owned.folder}/pipes", LOGS: f"{owned.folder}/logs"}
        for made in variables.values():
            Path(made).mkdir()
        _control(["-d"], "", variables, owned.children)
        try:
            yield variables
        finally:
            with ignore_stops():
                _control([], "quit\n", variables)
    finally:
        owned.remove()


def _control(options: list[str], said: str, variables: Mapping[str, str], *kept: int) -> None:
    """Run the program; a daemon keeps descriptors open, so that a later service can end it.

    The daemon offers all GPUs. It would number those that it offers anew, but its clients number
    all of them.
    """
    inherited = {name: value for name, value in without_secrets().items() if name != VISIBLE}
    # The daemon goes on and keeps what it inherits, so its messages go to a file, not a pipe.
    messages = Path(variables[LOGS], "messages")
    with messages.open("ab") as file:
        try:
            done = subprocess.run(
                [PROGRAM, *options], input=said, text=True, stdout=file, stderr=file,
                env={**inherited, **variables}, pass_fds=kept, timeout=TIMEOUT_S, check=False,
                start_new_session=True,  # Ctrl-C ends the server first
            )  # fmt: skip
        except FileNotFoundError as error:
            raise ServerError(f"{PROGRAM}: no such program; NVIDIA's driver brings it") from error
        except subprocess.TimeoutExpired as error:
            raise ServerError(f"{PROGRAM}: wanted its end in {TIMEOUT_S:g} s") from error
    if done.returncode:
        raise ServerError(f"{PROGRAM}: {messages.read_text(errors='replace').strip()}")
