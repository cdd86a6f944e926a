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

from orchestrator.errors import PlateError
from orchestrator.host.retry import exponential_s
from orchestrator.host.text_lines import to_line
from plate_cameras.clocks import steady_s

LOG = logging.getLogger(__name__)
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 5.0
"""Pauses before a task is started again; they double."""
SETTLED_S = 60.0
"""After a task has run for this time, pauses start anew."""

Run = Callable[[], Coroutine[Any, Any, None]]
Note = Callable[[Exception | None], None]
"""Takes the outcome of one round of a task: the failure, or None for a success."""


@dataclass(frozen=True)
class TaskStatus:
    """The state of one background task.

    Attributes:
        is_running: False while it waits for its next start, and after its end.
        failures: Number of its failures, also of those that it has survived.
        last_error: The last exception as text; empty if there was none, or if the task has run for
            `SETTLED_S` since, or a round of it has succeeded.
        has_ended: True if it has ended and is not started again.
        is_vital: True if the command cannot go on without it.
    """

    name: str
    is_running: bool = True
    failures: int = 0
    last_error: str = ""
    has_ended: bool = False
    is_vital: bool = False

    @property
    def is_up(self) -> bool:
        """False between a failure and the next start, and after the end of a vital task."""
        return self.is_running or (self.has_ended and not self.is_vital)


class FatalTaskError(Exception):
    """A vital task has ended, so the command cannot go on."""


class BackgroundTasks:
    """Starts tasks, sees their ends, and starts them again.

    Args:
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
            ends: True if it may return. Else its return counts as a failure.

        Returns:
            The task that runs it. It ends without an exception.

        Raises:
            ValueError: A task of this name runs.
        """
        if name in self._tasks and not self._tasks[name].done():
            raise ValueError(f"task {name}: wanted another name, it runs already")
        self._statuses[name] = replace(
            self._status_of(name), is_running=True, has_ended=False, is_vital=is_vital
        )
        coroutine = self._watch(name, run, is_vital=is_vital, ends=ends)
        self._tasks[name] = asyncio.create_task(coroutine, name=name)
        return self._tasks[name]

    def cancel(self, *names: str) -> list[asyncio.Task[None]]:
        """Cancel tasks; all without names. They are forgotten, and returned: they end later."""
        names = names or (*self._tasks,)
        for name in names:
            self._statuses.pop(name, None)
        tasks = [self._tasks.pop(name) for name in names if name in self._tasks]
        for task in tasks:
            task.cancel()
        return tasks

    async def stop(self, *names: str) -> None:
        """Cancel tasks and wait for their ends; all tasks without names. They are forgotten."""
        if tasks := self.cancel(*names):
            await asyncio.wait(tasks)

    def note(self, name: str, error: Exception | None, effect: str = "") -> None:
        """Take the outcome of one round of a task that survives its failures.

        A failure is counted. It is logged if the round before did not fail for the same reason.

        Args:
            name: Name of the task.
            error: The failure; None for a success.
            effect: The consequence for users, such as "passes cannot be kept".
        """
        if error is None:
            self._note(name, last_error="")
            return
        if self._status_of(name).last_error != describe(error):
            LOG.error(
                "%s: %s", effect or f"task {name}", describe(error), exc_info=to_exc_info(error)
            )
        failures = self._status_of(name).failures + 1
        self._note(name, failures=failures, last_error=describe(error))

    async def wait_for_fatal(self) -> None:
        """Wait until a vital task has failed.

        Raises:
            FatalTaskError: One has. The message names the task and the reason.
        """
        await self._fatal.wait()
        raise FatalTaskError(self._reason)

    async def _watch(self, name: str, run: Run, *, is_vital: bool, ends: bool) -> None:
        retries, last_error = 0, ""
        while True:
            started_s = self._clock()
            error = await self._run_once(name, run, last_error)
            if error is None and ends:
                self._note(name, is_running=False, has_ended=True)
                return
            error = error or RuntimeError("it has returned, which it must not")
            is_settled = self._clock() - started_s >= SETTLED_S
            is_repeated = describe(error) == last_error and not is_settled
            self._note_failure(name, error, is_vital=is_vital, is_repeated=is_repeated)
            if is_vital:
                self._reason = self._reason or f"task {name} has failed: {describe(error)}"
                self._fatal.set()
                return
            retries, last_error = 0 if is_settled else retries, describe(error)
            await self._sleep(exponential_s(retries, FIRST_PAUSE_S, MAX_PAUSE_S))
            retries += 1
            self._note(name, is_running=True)

    async def _run_once(self, name: str, run: Run, former_error: str) -> Exception | None:
        """Run a task until it ends. Return its exception.

        Its former error is over when it has run for some time.

        It runs in a task of its own. So a cancellation inside of it, such as that of a future that
        it awaits, does not look like a cancellation by its owner.
        """
        inner = asyncio.create_task(run(), name=name)
        try:
            if former_error:
                await asyncio.wait({inner}, timeout=SETTLED_S)
                if self._status_of(name).last_error == former_error:
                    self._note(name, last_error="")
            await asyncio.wait({inner})
        except asyncio.CancelledError:
            inner.cancel()
            await asyncio.wait({inner})
            if not inner.cancelled() and (error := inner.exception()):
                LOG.error("task %s has failed at its end", name, exc_info=error)
            self._note(name, is_running=False)
            raise
        if inner.cancelled():
            return RuntimeError("it was cancelled, but not by its owner")
        error = inner.exception()
        if error is None or isinstance(error, Exception):
            return error
        raise error

    def _note_failure(
        self, name: str, error: Exception, *, is_vital: bool, is_repeated: bool
    ) -> None:
        effect = "the command ends" if is_vital else "it is started again"
        level = logging.INFO if is_repeated else logging.ERROR
        LOG.log(level, "task %s has failed; %s", name, effect, exc_info=error)
        failures = self._status_of(name).failures + 1
        self._note(name, is_running=False, failures=failures, last_error=describe(error))
        self._note(name, has_ended=is_vital)

    def _status_of(self, name: str) -> TaskStatus:
        return self._statuses.get(name, TaskStatus(name))

    def _note(self, name: str, **changes: Any) -> None:
        if name in self._statuses:
            self._statuses[name] = replace(self._statuses[name], **changes)


def make_note(effect: str) -> Note:
    """Return a function that logs failures, for tasks without an owner that counts them."""
    last_error = ""

    def log(error: Exception | None) -> None:
        nonlocal last_error
        if error is not None and describe(error) != last_error:
            LOG.error("%s: %s", effect, describe(error), exc_info=to_exc_info(error))
        last_error = "" if error is None else describe(error)

    return log


def describe(error: BaseException) -> str:
    """Return an exception as one text; errors of our own are sentences."""
    return (
        str(error) if isinstance(error, PlateError) else to_line(f"{type(error).__name__}: {error}")
    )


def to_exc_info(error: Exception) -> Exception | None:
    """Return an exception to log with its traceback; None for ours, which are sentences."""
    return None if isinstance(error, PlateError) else error
