"""Background of a watch: the upkeep of the store, in rounds, and which tasks are dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from plate_cameras.background_tasks import BackgroundTasks, Note, TaskStatus, make_note
from plate_cameras.clocks import steady_s, unix_s
from plate_cameras.configuration import Configuration, Sink
from plate_cameras.setting_parts import Site
from plate_cameras.store.pass_store import PassStore
from plate_cameras.watching.status import CameraStatus

RETENTION_EVERY_S, REPLAY_EVERY_S, CLOSE_LEFT_EVERY_S = 3600.0, 5.0, 30.0
COUNT_EVERY_S = 120.0
SPOOL, RETENTION, INTERRUPTED, SITES = "spool", "retention", "interrupted passes", "sites"
"""Names of the tasks."""
EFFECTS = {
    SPOOL: "the spool cannot be replayed",
    RETENTION: "old passes cannot be deleted",
    INTERRUPTED: "interrupted passes cannot be closed",
    SITES: "vehicles that are inside cannot be counted",
}
"""The consequences of the failures of tasks, for messages."""
RETENTION_RETRY_S = 60.0
"""Pause after a round of retention that has failed."""


def start_upkeep(
    tasks: BackgroundTasks,
    store: PassStore,
    *,
    deletes: bool,
    last_configuration: Configuration | None,
    sites: Callable[[], Sequence[Site]] = lambda: (),
) -> None:
    """Start the rounds that every watch with a store needs.

    Args:
        tasks: The owner of the tasks.
        store: The store.
        deletes: True if old passes are deleted.
        last_configuration: The cameras whose passes the last watch may have left open, and their
            sinks; None if they are not closed.
        sites: Returns the sites whose vehicles are counted.
    """

    def note(name: str) -> Note:
        return lambda error: tasks.note(name, error, EFFECTS[name])

    tasks.start(SPOOL, lambda: replay_spool(store, note(SPOOL)))
    tasks.start(SITES, lambda: count_vehicles(store, sites, note(SITES)))
    if deletes:
        tasks.start(RETENTION, lambda: delete_old(store, note(RETENTION)))
    if last_configuration:
        closing = partial(close_interrupted, store, last_configuration, note(INTERRUPTED))
        tasks.start(INTERRUPTED, closing, ends=True)


async def delete_old(store: PassStore, note: Note | None = None) -> None:
    """Delete passes whose time is over, now and then."""
    note = note or make_note(EFFECTS[RETENTION])
    while True:
        is_done = await _attempt(lambda: store.delete_expired(unix_s()), note)
        await asyncio.sleep(RETENTION_EVERY_S if is_done else RETENTION_RETRY_S)


async def replay_spool(store: PassStore, note: Note | None = None) -> None:
    """Write the events of the spool to the database, also while no passes come."""
    note = note or make_note(EFFECTS[SPOOL])
    while True:
        await asyncio.sleep(REPLAY_EVERY_S)
        await _attempt(store.replay_spool, note)


def sites_of(
    get_configuration: Callable[[], Configuration],
    get_cameras: Callable[[], Sequence[CameraStatus]],
) -> list[Site]:
    """Return the sites that a watcher counts.

    The counts are only used by the metrics. Of watchers that share the cameras, the one at a site's
    first entry counts.
    """
    configuration, names = get_configuration(), {camera.name for camera in get_cameras()}
    sites = configuration.sites if configuration.metrics_port else ()
    return [site for site in sites if site.entries[0] in names]


async def count_vehicles(
    store: PassStore, sites: Callable[[], Sequence[Site]], note: Note | None = None
) -> None:
    """Count the vehicles that are inside of sites, now and then."""
    note = note or make_note(EFFECTS[SITES])
    while True:
        await _attempt(lambda: store.inside.count(sites()), note)
        await asyncio.sleep(COUNT_EVERY_S)


async def close_interrupted(
    store: PassStore, configuration: Configuration, note: Note | None = None
) -> None:
    """Close the passes that were open when the last watch was killed, once the spool is empty."""
    note = note or make_note(EFFECTS[INTERRUPTED])
    names = [camera.name for camera in configuration.cameras]
    is_more = True

    def close_some() -> None:
        nonlocal is_more
        if store.replay_spool():
            return
        events = store.unclosed_passes.interrupted(names)
        store.write(events, configuration.sinks)
        is_more = bool(events)

    while is_more:
        await _attempt(close_some, note)
        if is_more:
            await asyncio.sleep(REPLAY_EVERY_S)


async def close_left(
    store: PassStore, watcher: str, sinks: Callable[[], Sequence[Sink]], note: Note
) -> None:
    """Close passes that watchers have left open when they died."""

    def close_some() -> None:
        if not store.replay_spool():  # else newer events of the passes may be in the spool
            store.write(store.unclosed_passes.of_former_owners(watcher), sinks())

    while True:
        await asyncio.sleep(CLOSE_LEFT_EVERY_S)
        await _attempt(close_some, note)


async def _attempt(step: Callable[[], object], note: Note) -> bool:
    """Run one round in a thread. Return whether it succeeded.

    After any failure, such as of a disk, a database or the start of a thread, the next round may
    succeed.
    """
    try:
        await asyncio.to_thread(step)
    except Exception as error:
        note(error)
        return False
    note(None)
    return True


BEAT_S, STALLED_S = 1.0, 15.0
"""Pause between heartbeats of the event loop, and the age of a heartbeat at which it is stalled."""
EVENT_LOOP = "event loop"
"""Name of the event loop among dead tasks."""

TakeStatuses = Callable[[], Sequence[TaskStatus]]


class Health:
    """The state of all tasks. Other threads may read it.

    Args:
        takes: Return the states of tasks, each for one owner.
    """

    def __init__(
        self, takes: Sequence[TakeStatuses], clock: Callable[[], float] = steady_s
    ) -> None:
        self._takes, self._clock = takes, clock
        self._beat_s = clock()

    @property
    def statuses(self) -> tuple[TaskStatus, ...]:
        return tuple(status for take in self._takes for status in take())

    def find_dead(self) -> list[str]:
        """Return the names of tasks that do not run although they should."""
        names = [status.name for status in self.statuses if not status.is_up]
        is_stalled = self._clock() - self._beat_s > STALLED_S
        return [EVENT_LOOP, *names] if is_stalled else names

    async def beat(self) -> None:
        """Send heartbeats of the event loop, until the task is cancelled."""
        while True:
            self._beat_s = self._clock()
            await asyncio.sleep(BEAT_S)
