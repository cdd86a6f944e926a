"""Runs the gates in a thread with an event loop of its own.

So a barrier waits neither for the tracking of other cameras, nor for the store, nor for names that
the system's resolver does not find: each of them has its own threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, TypeVar

from plate_cameras.background_tasks import FatalTaskError, TaskStatus, make_note
from plate_cameras.clocks import complete_within, steady_s, wait_through
from plate_cameras.configuration import Configuration
from plate_cameras.gates.controller import GateController
from plate_cameras.gates.known_lists import HoldOffs, KnownLists
from plate_cameras.gates.opening_recorder import OpeningRecorder
from plate_cameras.gates.reasons import to_sentence
from plate_cameras.gates.relay import Relay, make_relay
from plate_cameras.gates.status import GateStatus
from plate_cameras.passes import PassEvent, Sighting
from plate_cameras.secret_settings import read_secret_files
from plate_cameras.store.openings.gate_commands import MAX_AGE_S, TAKEN_WITHIN_S, GateCommands
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.store.pass_store import PassStore

POLL_S = 0.5
LAST_TAKE_S = 1.0
"""Longest wait at the end for commands that are being taken."""


async def follow_commands(
    commands: GateCommands, controller: GateController, hold_offs: HoldOffs
) -> None:
    """Take commands until the task is cancelled. Without a database there are none.

    A command that another watcher has taken counts as an opening at once: that watcher may die. One
    of this process counts when its relay is asked.
    """
    note = make_note("gates get no commands of people")
    late = to_sentence("late")
    while True:
        await asyncio.sleep(POLL_S)
        names = [status.name for status in controller.statuses]
        asked_s = steady_s()
        take = partial(commands.take, names, late, hold_offs.begin, hold_offs.withdraw)
        taking = asyncio.create_task(asyncio.to_thread(take))
        try:
            await asyncio.wait({taking})
        finally:  # also when this task is cancelled: nobody else gets a command that is taken
            await wait_through([taking], LAST_TAKE_S)
            if taking.done():
                _hand_over(taking, asked_s, controller, note)


def _hand_over(
    taking: asyncio.Task[list[GateOpening]],
    asked_s: float,
    controller: GateController,
    note: Callable[[Exception | None], None],
) -> None:
    """Hand commands that were taken to their gates; `asked_s` is when the store was asked."""
    try:
        openings = taking.result()
    except Exception as error:  # whatever it is, the next round may succeed
        note(error)
        return
    note(None)
    # After that time the person was told that nobody has taken it.
    is_late = steady_s() - asked_s > TAKEN_WITHIN_S - MAX_AGE_S
    for opening in openings:
        try:
            controller.open(opening, -inf if is_late else asked_s)
        except Exception:  # the others are taken from the store, too
            LOG.exception("gate %s: a person's command is lost", opening.gate)


LOG = logging.getLogger(__name__)
THREADS = 32
"""Threads for names that are resolved, for packages that are imported, and for the store."""
FIRST_READ_S = 5.0
"""Longest wait for the lists at the start."""
LAST_WRITE_S = 6.0
"""Longest wait for the last records at the end."""
STOP_S = 20.0
"""Longest wait for the end of the thread: a relay is switched off, and the records are written."""
NAME = "gates thread"
"""Name of the thread among the tasks."""
COMMANDS = "gate commands"

Argument = TypeVar("Argument")


@dataclass(frozen=True)
class PreparedGates:
    """Gates of a configuration that are ready to take over."""

    configuration: Configuration
    relays: Mapping[str, Relay]
    secrets: Mapping[str, tuple[str, ...]]


class GateThread:
    """The gates of one configuration, beside the caller's event loop.

    Args:
        store: The lists, and the place where openings are kept.
    """

    def __init__(self, store: PassStore, tell: Callable[[GateOpening], None]) -> None:
        self._store = store
        self._tell = tell
        self._parts: _ThreadParts | None = None
        self._last_events: dict[str, PassEvent] = {}
        self._secrets: Mapping[str, tuple[str, ...]] = {}
        self._death: Future[str] = Future()

    @property
    def statuses(self) -> tuple[GateStatus, ...]:
        """The state of each gate now."""
        return self._parts.controller.statuses if self._parts else ()

    @property
    def task_statuses(self) -> tuple[TaskStatus, ...]:
        return self._parts.task_statuses if self._parts else ()

    async def prepare(self, configuration: Configuration) -> PreparedGates:
        """Make what a configuration needs. Nothing changes yet.

        Raises:
            SettingsError: The settings of a gate are wrong.
            ExtraError: A gate needs a package that is not installed.
        """
        parts, gates = self._parts, configuration.gates
        changed_gates = parts.controller.find_changed(gates) if parts else gates
        secrets = {gate.name: await asyncio.to_thread(read_secret_files, gate) for gate in gates}
        relays = {
            gate.name: await asyncio.to_thread(make_relay, gate)
            for gate in gates
            if gate in changed_gates or secrets[gate.name] != self._secrets.get(gate.name)
        }
        return PreparedGates(configuration, relays, secrets)

    async def commit(self, gates: PreparedGates) -> None:
        """Follow the gates that were prepared. The thread starts with the first gate."""
        self._secrets = gates.secrets
        if self._parts is None:
            if not gates.configuration.gates:
                return
            self._parts = await asyncio.to_thread(_start, self._store, self._tell, self._death)
            for event in [*self._last_events.values()]:
                self._parts.post(self._parts.controller.offer, event)
        controller = self._parts.controller
        await self._parts.call(controller.apply(gates.configuration, gates.relays))

    def offer(self, event: PassEvent) -> None:
        """Look at an event. This returns at once."""
        if event.kind == "closed":
            self._last_events.pop(event.vehicle_pass.id, None)
        else:
            self._last_events[event.vehicle_pass.id] = event  # for gates that come later
        if parts := self._parts:
            parts.post(parts.controller.offer, event)

    def notice(self, sighting: Sighting) -> None:
        """Note which passes a frame has shown. This returns at once."""
        if sighting.pass_ids and (parts := self._parts):
            parts.post(parts.controller.see, sighting)

    async def wait_for_fatal(self) -> None:
        """Wait until the thread ends by a fault.

        Raises:
            FatalTaskError: It has ended. The message has the reason.
        """
        reason = await asyncio.shield(asyncio.wrap_future(self._death))
        raise FatalTaskError(reason)

    async def stop(self) -> None:
        """Stop all gates, and write the last records."""
        parts, self._parts = self._parts, None
        if parts:
            parts.post(lambda _: parts.is_to_stop.set(), None)
            await asyncio.to_thread(parts.thread.join, STOP_S)
            if parts.thread.is_alive():
                LOG.error("the gates have not stopped within %.0f s", STOP_S)


@dataclass
class _ThreadParts:
    """The parts of the thread."""

    thread: threading.Thread
    loop: asyncio.AbstractEventLoop
    controller: GateController
    lists: KnownLists
    recorder: OpeningRecorder
    commands: GateCommands
    hold_offs: HoldOffs
    is_to_stop: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0
    last_error: str = ""

    @property
    def task_statuses(self) -> tuple[TaskStatus, ...]:
        """The states of the thread and of its tasks; failed calls count for the thread."""
        is_running = self.thread.is_alive()
        own = TaskStatus(
            NAME, is_running, self.failures, self.last_error, not is_running, is_vital=True
        )
        return (own, *self.controller.tasks.statuses)

    async def call(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the thread, and wait for it in the caller's loop."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self.loop))

    def post(self, function: Callable[[Argument], None], argument: Argument) -> None:
        """Call a function in the thread, after all calls before."""
        with suppress(RuntimeError):  # the thread has ended, which `wait_for_fatal` tells
            self.loop.call_soon_threadsafe(self._try, function, argument)

    def _try(self, function: Callable[[Argument], None], argument: Argument) -> None:
        try:
            function(argument)
        except Exception as error:  # whatever it is, the next call must come
            LOG.exception("the gates could not use an event")
            self.failures += 1
            self.last_error = f"{type(error).__name__}: {error}"

    async def run(self) -> None:
        """Keep the lists and the records, until the thread is to end."""
        tasks = self.controller.tasks
        tasks.start("gate lists", self.lists.run)
        follow = partial(follow_commands, self.commands, self.controller, self.hold_offs)
        tasks.start(COMMANDS, follow)
        tasks.start("gate records", self.recorder.run, ends=True)
        try:
            await self.is_to_stop.wait()
        finally:
            await tasks.stop("gate lists", COMMANDS)
            await self.controller.stop()
            await self.recorder.close(LAST_WRITE_S)
            await tasks.stop()


def _start(
    store: PassStore, tell: Callable[[GateOpening], None], death: Future[str]
) -> _ThreadParts:
    """Start the thread; return when its loop runs and the lists were read or cannot be."""
    starting: Future[_ThreadParts] = Future()

    async def run() -> None:
        parts = await _open(store, tell, thread)
        starting.set_result(parts)
        await parts.run()

    def main() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            if not starting.done():
                starting.set_exception(error)
                return
            LOG.exception("the gates have stopped")
            death.set_result(f"the gates have stopped: {type(error).__name__}: {error}")

    thread = threading.Thread(target=main, name="gates", daemon=True)
    thread.start()
    return starting.result()


async def _open(
    store: PassStore, tell: Callable[[GateOpening], None], thread: threading.Thread
) -> _ThreadParts:
    """Make the parts in the thread's loop."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS))
    hold_offs, recorder = HoldOffs(), OpeningRecorder(store.openings)
    lists = KnownLists(store, hold_offs)
    controller = GateController(lists, recorder, hold_offs, tell)
    lists.on_change = controller.reconsider
    with suppress(asyncio.TimeoutError):
        await complete_within(lists.read(), FIRST_READ_S)
    return _ThreadParts(thread, loop, controller, lists, recorder, store.commands, hold_offs)
