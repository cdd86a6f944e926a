"""Owns background tasks: sees the end of each, and starts it again.

A task that nobody looks at ends unseen with its first exception. So no module of the cameras starts
a task that lasts by itself; it asks `BackgroundTasks` for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.cameras.clocks import steady_s
from orchestrator.system.backoff import exponential_s

LOG = logging.getLogger(__name__)
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 5.0
"""Pauses before a task is started again; they double."""
SETTLED_S = 60.0
"""A task that has run for this time is well again, so that pauses start anew."""

Run = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class TaskStatus:
    """The state of one background task.

    Attributes:
        name: Name of the task.
        is_running: False while it waits for its next start, and after its end.
        failures: Number of its ends by an exception.
        last_error: The last exception as text; empty if there was none.
        has_ended: True if it has ended as planned.
    """

    name: str
    is_running: bool = True
    failures: int = 0
    last_error: str = ""
    has_ended: bool = False


class FatalTaskError(Exception):
    """A task has ended without which the command cannot go on."""


class BackgroundTasks:
    """Starts tasks, sees their ends, and starts them again.

    Args:
        clock: A clock that nobody sets.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        clock: Callable[[], float] = steady_s,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._statuses: dict[str, TaskStatus] = {}
        self._fatal = asyncio.Event()
        self._reason = ""

    @property
    def statuses(self) -> tuple[TaskStatus, ...]:
        """The states of all tasks."""
        return tuple(self._statuses.values())

    def start(
        self, name: str, run: Run, *, is_vital: bool = False, ends: bool = False
    ) -> asyncio.Task[None]:
        """Run a coroutine function until it is stopped.

        An exception is logged with its traceback and counted. Then the function is called again
        after a pause.

        Args:
            name: Unique name of the task, for logs and metrics.
            run: Makes the coroutine; it is called for each start.
            is_vital: True if the command cannot go on without it. Its first failure ends
                `wait_for_fatal`, and it is not started again.
            ends: True if it may return. A task that must not has failed when it returns.

        Returns:
            The task that runs it. It ends without an exception.

        Raises:
            ValueError: A task of this name runs.
        """
        if name in self._tasks and not self._tasks[name].done():
            raise ValueError(f"task {name}: wanted another name, it runs already")
        self._statuses[name] = replace(self._status_of(name), is_running=True, has_ended=False)
        watched = self._watch(name, run, is_vital=is_vital, ends=ends)
        self._tasks[name] = asyncio.create_task(watched, name=name)
        return self._tasks[name]

    async def stop(self, *names: str) -> None:
        """Cancel tasks and wait for their ends; all tasks without names. They are forgotten."""
        chosen = [*(names or self._tasks)]
        for name in chosen:
            self._statuses.pop(name, None)
        tasks = [self._tasks.pop(name) for name in chosen if name in self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def wait_for_fatal(self) -> None:
        """Wait until a vital task has failed.

        Raises:
            FatalTaskError: One has. The message names the task and the reason.
        """
        await self._fatal.wait()
        raise FatalTaskError(self._reason)

    async def _watch(self, name: str, run: Run, *, is_vital: bool, ends: bool) -> None:
        retries, task = 0, asyncio.current_task()
        while True:
            started_s = self._clock()
            error: Exception = RuntimeError("it has returned, which it must not")
            try:
                await run()
                if ends:
                    self._note(name, is_running=False, has_ended=True)
                    return
            except Exception as raised:  # whatever it is, somebody must see it
                error = raised
            if self._tasks.get(name) is not task:  # before Python 3.12, `wait_for` may lose a
                return  # cancellation; then the coroutine returns
            self._note_failure(name, error, is_vital=is_vital)
            if is_vital:
                self._reason = self._reason or f"task {name} has failed: {_describe(error)}"
                self._fatal.set()
                return
            retries = 0 if self._clock() - started_s >= SETTLED_S else retries
            await self._sleep(exponential_s(retries, FIRST_PAUSE_S, MAX_PAUSE_S))
            retries += 1
            self._note(name, is_running=True)

    def _note_failure(self, name: str, error: Exception, *, is_vital: bool) -> None:
        following = "the command ends" if is_vital else "it is started again"
        LOG.error("task %s has failed; %s", name, following, exc_info=error)
        failures = self._status_of(name).failures + 1
        self._note(name, is_running=False, failures=failures, last_error=_describe(error))
        self._note(name, has_ended=is_vital)

    def _status_of(self, name: str) -> TaskStatus:
        return self._statuses.get(name, TaskStatus(name))

    def _note(self, name: str, **changes: Any) -> None:
        if name in self._statuses:
            self._statuses[name] = replace(self._statuses[name], **changes)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
