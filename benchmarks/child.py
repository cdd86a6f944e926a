"""A program measured beside the server: it says `ready`, then answers every line with JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TypeVar

from benchmarks.plan import Plan
from benchmarks.worker import Job, PipelineOptions
from orchestrator.errors import ServerError, SettingsError
from orchestrator.networks.engines import Engine
from orchestrator.networks.weights import WEIGHTS
from orchestrator.server.capacity import Capacity
from orchestrator.server.options import ServerOptions
from orchestrator.toml_files import build

PROJECT = Path(__file__).resolve().parents[1]
READY = "ready"
GOODBYE_S = 5.0

A = TypeVar("A")


@dataclass(frozen=True)
class Child:
    """A running child; use `run_child`. It sleeps in a read while it is not asked."""

    name: str
    process: subprocess.Popen[str]
    complaints: IO[str]

    def ask(self, kind: type[A], job: Job) -> A:
        """Send a job as a line of JSON and wait for the answer.

        Args:
            kind: Dataclass of the answer.
            job: What to do.

        Raises:
            ServerError: The child ended, or answered with something else.
        """
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            self.process.stdin.write(json.dumps(asdict(job)) + "\n")
            self.process.stdin.flush()
        answer = self.read_line()
        try:
            return build(kind, json.loads(answer))
        except (ValueError, SettingsError) as error:
            raise ServerError(
                f"{self.name}: wanted {kind.__name__} as JSON, got {answer[:80]!r}"
            ) from error

    def read_line(self) -> str:
        """Wait for a line.

        Raises:
            ServerError: The child ended; the message is the last that it left.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            return line.strip()
        self.process.wait(GOODBYE_S)
        self.complaints.seek(0)
        last = [*filter(None, map(str.strip, self.complaints))][-1:] or ["it left no message"]
        raise ServerError(f"{self.name}: wanted an answer, got its end: {last[0]}")

    def stop(self) -> None:
        """Close the child's input, which ends it, and see that it ends."""
        assert self.process.stdin is not None
        with self.process:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
            try:
                self.process.wait(GOODBYE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()


@contextmanager
def run_child(name: str, command: Sequence[str], variables: Mapping[str, str]) -> Iterator[Child]:
    """Run a child for the length of a `with` block, ready from the start.

    Raises:
        ServerError: It cannot be started or does not become ready.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as complaints:
        try:
            process = subprocess.Popen(
                command,
                env={**os.environ, **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        except OSError as error:
            raise ServerError(f"{command[0]}: wanted a program, got {error.strerror}") from error
        child = Child(name, process, complaints)
        try:
            if (line := child.read_line()) != READY:
                raise ServerError(f"{name}: wanted {READY!r}, got {line[:80]!r}")
            yield child
        finally:
            child.stop()


@contextmanager
def run_worker(plan: Plan, parameters: Mapping[str, Mapping[str, str]]) -> Iterator[Child]:
    """Run the pipeline in a process of its own, as the server runs it.

    Args:
        plan: What is measured.
        parameters: Of the model `plate_recognition`, as its config has them.
    """
    capacity = _fit(plan)
    options = PipelineOptions(
        weights=str((plan.weights or WEIGHTS).resolve()),
        device=plan.used_device,
        engine=plan.engine,
        threads=capacity.threads,
        instances=capacity.instances,
        parameters=parameters,
    )
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(asdict(options))]
    variables = {
        "OMP_NUM_THREADS": str(capacity.threads),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE"),  # idle means idle
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")])
        ),
        **({"CUDA_VISIBLE_DEVICES": ""} if plan.used_device == "cpu" else {}),
    }
    with run_child("in-process", command, variables) as child:
        yield child


def _fit(plan: Plan) -> Capacity:
    """Return how the CPU is shared in a server of our own; on a GPU there is one of each."""
    server = ServerOptions(
        device=plan.used_device,
        engine=Engine(plan.engine),
        threads=plan.threads,
        pictures=plan.pictures,
    )
    return server.capacity() or Capacity(len(os.sched_getaffinity(0)), 1, 1)
