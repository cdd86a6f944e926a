"""Exports networks in a process of its own.

PyTorch stays in the memory of the process that imports it, some 250 MB, and a server runs for
months. The parent sends what to export, the child answers with its error or None.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import PlateError, ServerError
from orchestrator.host.subprocesses import prepare_child, without_secrets
from orchestrator.serving.supervisor.models.export_cache import (
    ModelSource,
    export_networks,
    plan_export,
)

logger = logging.getLogger(__name__)
PACKAGES = Path(__file__).resolve().parents[4]
"""Folder of the package. `-m` searches it first, in any working directory."""
COMMAND = (sys.executable, "-m", "orchestrator.serving.supervisor.models.export_process")


def export_apart(source: ModelSource, *, spare: Path | None = None) -> None:
    """Run `export_networks` in a child process, if a network is missing.

    Raises:
        PlateError: An error of `export_networks`.
        ServerError: The child was killed.
    """
    files = plan_export(source, spare=spare)
    if not files:
        return
    logger.info("exporting %s ...", ", ".join(files))
    child = subprocess.run(
        COMMAND,
        cwd=PACKAGES,
        input=pickle.dumps((_from_anywhere(source), spare and spare.absolute())),
        stdout=subprocess.PIPE,
        env=without_secrets(),
        preexec_fn=prepare_child,
        check=False,
    )
    if child.returncode:
        raise ServerError(f"export: wanted exported networks, got exit status {child.returncode}")
    error: PlateError | None = pickle.loads(child.stdout)
    if error:
        raise error


def _from_anywhere(source: ModelSource) -> ModelSource:
    """Return the inputs with paths that lead to them from any working directory."""
    return replace(
        source,
        repository=source.repository.absolute(),
        weights=source.weights.absolute(),
        formats=source.formats and source.formats.absolute(),
    )


def main() -> None:
    """Export what the parent asks for, and answer on the standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this child
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints gets into the answer
    source, spare = pickle.load(sys.stdin.buffer)
    error = None
    try:
        export_networks(source, spare=spare)
    except PlateError as reason:
        error = reason
    with answer:
        pickle.dump(error, answer)


if __name__ == "__main__":
    main()
