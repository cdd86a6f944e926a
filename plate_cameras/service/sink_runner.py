"""Runs the sinks of a configuration, and replaces them by the sinks of another configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from plate_cameras.background_tasks import BackgroundTasks, TaskStatus
from plate_cameras.clocks import unix_s
from plate_cameras.configuration import Configuration, Sink
from plate_cameras.secret_settings import read_secret_files
from plate_cameras.sinks.deliverer import Deliverer
from plate_cameras.sinks.outbox import Outbox
from plate_cameras.sinks.receiver import Receiver
from plate_cameras.sinks.registry import FindPictures, find_none, make_receivers
from plate_cameras.sinks.sink_status import SinkStatus
from plate_cameras.store.pass_store import PassStore

TASK = "sinks"
LAST_DELIVERY_S = 20.0
"""Longest time in which a watch of clips delivers its last events."""

Receivers = Mapping[str, Receiver]
Settings = Sequence[tuple[Sink, Sequence[str]]]
"""Sinks, and the contents of their files with secrets."""


class SinkRunner:
    """Delivers the events of an outbox to the receivers of a configuration.

    Args:
        find_pictures: Finds the kept pictures of a pass, for messages to people.
    """

    def __init__(
        self,
        outbox: Outbox,
        tasks: BackgroundTasks,
        clock: Callable[[], float] = unix_s,
        find_pictures: FindPictures = find_none,
    ) -> None:
        self._outbox, self._tasks, self._clock = outbox, tasks, clock
        self._find_pictures = find_pictures
        self._settings: Settings | None = None
        self._next_settings: Settings | None = None
        self._deliverer: Deliverer | None = None
        self._next: Deliverer | None = None

    @classmethod
    def of(cls, store: PassStore, tasks: BackgroundTasks) -> SinkRunner:
        """Return the runner for a store's outbox."""
        return cls(store.outbox, tasks, store.clock.now_s, store.pictures_of)

    @property
    def statuses(self) -> Sequence[SinkStatus]:
        return self._deliverer.statuses if self._deliverer else ()

    @property
    def task_statuses(self) -> Sequence[TaskStatus]:
        return self._deliverer.tasks if self._deliverer else ()

    async def prepare(self, configuration: Configuration) -> Receivers | None:
        """Make the receivers of a configuration. Nothing is delivered to them yet.

        Returns:
            The receivers; None if the sinks that run are the same, with the same secrets.

        Raises:
            SettingsError: A sink has wrong settings.
        """
        self._next_settings = await asyncio.to_thread(_read_settings, configuration)
        if self._next_settings == self._settings:
            return None
        return await asyncio.to_thread(self._make_receivers, configuration)

    async def commit(self, configuration: Configuration, receivers: Receivers | None) -> None:
        """Deliver to prepared receivers, in place of the previous receivers."""
        self._settings = self._next_settings
        if receivers is None:
            if self._deliverer:  # `touch` of the file is how an operator enables a sink again
                self._deliverer.enable()
            return
        await self._tasks.stop(TASK)
        self._next = Deliverer(receivers, self._outbox, self._clock) if receivers else None
        self._deliverer = self._next
        if self._next:
            self._tasks.start(TASK, lambda: self._run(configuration))

    def wake(self) -> None:
        """Look for new events at once."""
        if self._deliverer:
            self._deliverer.wake()

    async def finish(self, say: Callable[[str], None]) -> None:
        """Deliver the waiting events for a limited time, and print what is left."""
        if self._deliverer and await self._deliverer.drain(LAST_DELIVERY_S):
            for line in self._deliverer.describe_waiting():
                say(line)

    async def stop(self) -> None:
        """Deliver no more, and close the receivers."""
        await self._tasks.stop(TASK)

    def _make_receivers(self, configuration: Configuration) -> Receivers:
        return make_receivers(configuration, find_pictures=self._find_pictures)

    async def _run(self, configuration: Configuration) -> None:
        """Deliver. After a failure new receivers do this: the previous ones were closed."""
        if self._next is None:
            receivers = self._make_receivers(configuration)
            self._next = Deliverer(receivers, self._outbox, self._clock)
        self._deliverer, self._next = self._next, None
        await self._deliverer.run()


def _read_settings(configuration: Configuration) -> Settings:
    return [(sink, read_secret_files(sink)) for sink in configuration.sinks]


async def close_all(receivers: Receivers | None) -> None:
    """Close receivers that are not needed after all."""
    if receivers:
        await asyncio.gather(
            *(receiver.close() for receiver in receivers.values()), return_exceptions=True
        )
