"""The programs that are measured beside the server: the pipeline in process, the predecessor."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.bench.child import Child, running
from orchestrator.bench.plan import Task
from orchestrator.errors import ServerError
from orchestrator.networks.weights import WEIGHTS

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = PROJECT / "benchmarks" / "predecessor.py"


def threads_of(task: Task) -> int:
    """Return the CPU threads of a network, the number a server of our own takes."""
    return task.threads or len(os.sched_getaffinity(0))


@contextmanager
def worker(task: Task, parameters: dict[str, Any]) -> Iterator[Child]:
    """Run the pipeline in a process of its own, with the thread settings of the server.

    Args:
        task: What is measured.
        parameters: Of the model `plate_recognition`, as its config has them.
    """
    given = {
        "weights": str((task.weights or WEIGHTS).resolve()),
        "device": task.device,
        "threads": threads_of(task),
        "parameters": parameters,
    }
    command = [sys.executable, "-m", "orchestrator.bench.worker", json.dumps(given)]
    with running("in-process", command, _variables(task)) as child:
        yield child


@contextmanager
def predecessor(task: Task, script: Path = SCRIPT) -> Iterator[Child | None]:
    """Run the predecessor's script with its own interpreter; None when none is wanted.

    Raises:
        ServerError: There is no such script, or it does not become ready.
    """
    if task.predecessor is None:
        yield None
        return
    if not script.is_file():
        raise ServerError(f"predecessor: wanted the script {script.name}, got none in its folder")
    command = [str(task.predecessor), str(script), "--weights", str(task.predecessor_weights)]
    with running("predecessor", command, _variables(task)) as child:
        yield child


def stages_ms(child: Child, picture: Path) -> dict[str, float]:
    """Let the predecessor run once; it is told the picture's file. Return ms for each stage.

    Raises:
        ServerError: It ended or answered with something else.
    """
    answer = child.ask(str(picture))
    if not answer or not all(isinstance(ms, int | float) for ms in answer.values()):
        raise ServerError(f"predecessor: wanted milliseconds for each stage, got {answer}")
    return {str(name): float(ms) for name, ms in answer.items()}


def _variables(task: Task) -> dict[str, str]:
    return {
        "OMP_NUM_THREADS": str(threads_of(task)),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE"),  # idle means idle
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")])
        ),
        **({"CUDA_VISIBLE_DEVICES": ""} if task.device == "cpu" else {}),
    }
