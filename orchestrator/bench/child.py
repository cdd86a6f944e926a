"""A program that measures on demand: it says `ready`, then answers each line with one of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from orchestrator.errors import ServerError

READY = "ready"
GOODBYE_S = 5.0


class Child:
    """A running child; use `running`. It sleeps in a read while it is not asked."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name = name
        self.pid = process.pid
        self._process = process
        self._complaints: deque[str] = deque(maxlen=20)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def ask(self, question: Mapping[str, Any] | str) -> dict[str, Any]:
        """Send a line, or an object as a line of JSON, and wait for the answer.

        Raises:
            ServerError: The child ended, or its answer is no JSON object.
        """
        assert self._process.stdin is not None
        line = question if isinstance(question, str) else json.dumps(question)
        with suppress(BrokenPipeError):  # then there is no answer either
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        answer = self._line()
        with suppress(ValueError):
            parsed = json.loads(answer)
            if isinstance(parsed, dict):
                return parsed
        raise ServerError(f"{self.name}: wanted a JSON object, got {answer[:80]!r}")

    def wait_until_ready(self) -> None:
        """Return when the child says so.

        Raises:
            ServerError: It ended, or said something else.
        """
        line = self._line()
        if line != READY:
            raise ServerError(f"{self.name}: wanted {READY!r}, got {line[:80]!r}")

    def stop(self) -> None:
        """Close the child's input, which ends it, and see that it ends."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        finally:
            self._process.wait()
            self._listener.join(GOODBYE_S)
            if self._process.stdout:
                self._process.stdout.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(GOODBYE_S)
            self._listener.join(GOODBYE_S)
            last = next((one for one in reversed(self._complaints) if one), "it left no message")
            raise ServerError(f"{self.name}: wanted an answer, got its end: {last}")
        return line.strip()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._complaints.extend(line.strip() for line in lines)


@contextmanager
def running(name: str, command: Sequence[str], variables: Mapping[str, str]) -> Iterator[Child]:
    """Run a child for the length of a `with` block, ready from the start.

    Args:
        name: Of the child, in errors.
        command: The program and its arguments.
        variables: Added to the environment.

    Raises:
        ServerError: It cannot be started or does not become ready.
    """
    try:
        process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is ours to handle
        )
    except OSError as error:
        raise ServerError(f"{command[0]}: wanted a program, got {error.strerror}") from error
    child = Child(name, process)
    try:
        child.wait_until_ready()
        yield child
    finally:
        child.stop()
