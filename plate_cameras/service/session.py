"""One run of `plates watch`: starts all parts, follows the configuration, and stops in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from contextlib import ExitStack
from functools import partial

from orchestrator.errors import ExtraError, SettingsError
from plate_cameras.background_tasks import BackgroundTasks, Note
from plate_cameras.configuration import Configuration
from plate_cameras.gates.gate_thread import GateThread
from plate_cameras.passes import PassEvent
from plate_cameras.secret_settings import resolve_secret
from plate_cameras.service.background import Health, close_left, sites_of, start_upkeep
from plate_cameras.service.ending import Closing, run_until_asked
from plate_cameras.service.printing import CLOSE_S, Output, logging_through
from plate_cameras.service.reloading import Reloader, locate
from plate_cameras.service.sink_runner import SinkRunner, close_all
from plate_cameras.service.targets import Watch as Watch
from plate_cameras.sources.decoders import Decoders
from plate_cameras.watching import event_writer, live_reporter
from plate_cameras.watching.camera_sources import Sources, make_tracker
from plate_cameras.watching.event_writer import EventWriter
from plate_cameras.watching.frame_recognizer import FrameRecognizer
from plate_cameras.watching.leases import CameraSharing, SharedCameras
from plate_cameras.watching.live_reporter import LiveReporter
from plate_cameras.watching.metrics import Snapshot, serve_metrics
from plate_cameras.watching.status import CameraStatus
from plate_cameras.watching.watcher import Watcher

STARTING = ("reload", "live reporter", "leases")
"""Tasks that may start cameras."""


class Session:
    """Runs the parts of a watch.

    Args:
        tasks: The owner of all tasks; one of its own if it is left out.
    """

    def __init__(
        self, watch: Watch, decoders: Decoders, tasks: BackgroundTasks | None = None
    ) -> None:
        store = watch.store
        self._watch, self._configuration = watch, watch.configuration
        self._tasks = tasks or BackgroundTasks()
        self._output = Output(watch.table, self.cameras, has_live_table=watch.has_live_table)
        sources, recognizer = Sources(decoders, store), FrameRecognizer(watch.client, watch.at_once)
        self._watcher = Watcher(
            sources.open, make_tracker, recognizer, self._receive, tasks=self._tasks
        )
        self._followed_names, self._is_ending = set[str](), False
        self._applying = asyncio.Lock()
        self._gates = GateThread(store, self._output.show_opening) if store else None
        if self._gates:
            self._watcher.notice = self._gates.notice
        self._sinks = SinkRunner.of(store, self._tasks) if store else None
        self._sharing = self._make_sharing()
        self._writer = self._watcher.storing = self._make_writer()
        self._reporter = self._make_reporter()
        self._health = Health(
            [
                lambda: self._tasks.statuses,
                lambda: self._sinks.task_statuses if self._sinks else (),
                lambda: self._gates.task_statuses if self._gates else (),
            ]
        )
        self._closing = Closing(lambda: self._writer.waiting if self._writer else 0)

    async def run(self) -> None:
        """Watch until the sources end, or until this process is asked to stop.

        Raises:
            PlateError: The configuration or the service cannot be used.
            FatalTaskError: A task that the command needs has failed.
        """
        ending = self._watch.ending
        with ExitStack() as stack:
            stack.enter_context(ending.limit())
            ending.describe = self._closing.describe
            stack.enter_context(logging_through(self._output.printer))
            try:
                await self._run_until_asked(stack)
            except Exception:
                ending.ask()  # what can be drained is drained within the limit
                raise
            finally:
                await self._end()

    def snapshot(self) -> Snapshot:
        """Return the state of everything now."""
        store, sinks, gates = self._watch.store, self._sinks, self._gates
        spool = store.writer.spool if store else None
        return Snapshot(
            self.cameras(),
            sinks.statuses if sinks else (),
            self._writer.waiting if self._writer else 0,
            spool.bytes if spool else 0,
            spool.counts.dropped if spool else 0,
            gates=gates.statuses if gates else (),
            leases_lost=self._sharing.lost if self._sharing else 0,
            events_rejected=store.writer.pass_writer.fence.rejected if store else 0,
            storage=store.storage() if store else None,
            tasks=self._health.statuses,
            lines_lost=self._output.printer.lost,
            sites=store.inside.counts if store else {},
        )

    def cameras(self) -> list[CameraStatus]:
        """Return the state of each camera now."""
        return [CameraStatus.of(loop) for loop in self._watcher.loops]

    async def _start(self, stack: ExitStack) -> None:
        """Start all parts. Those that fail with an invalid configuration are made first."""
        configuration, file = self._configuration, self._watch.file
        try:
            receivers = await self._sinks.prepare(configuration) if self._sinks else None
            gates = await self._gates.prepare(configuration) if self._gates else None
            self._watcher.check(configuration.cameras)
        except (SettingsError, ExtraError) as error:
            raise (locate(file, error) if file else error) from error
        if port := configuration.metrics_port:
            host, find_dead = configuration.metrics_host, self._health.find_dead
            key = resolve_secret("metrics_key", configuration.metrics_key, os.environ)
            stack.callback(serve_metrics(self.snapshot, host, port, find_dead, key))
        self._tasks.start("heartbeat", self._health.beat)
        if self._writer:
            self._tasks.start("writer", self._writer.run, is_vital=True)
        if self._watch.store:
            self._watch.store.begin_run()
        await asyncio.to_thread(self._configure_store, configuration)
        if self._gates and gates:
            await self._gates.commit(gates)
        if self._sinks:
            await self._sinks.commit(configuration, receivers)
        if self._reporter:
            await self._reporter.load()
        if not self._sharing:
            await self._apply_cameras()
        self._output.printer.start()
        self._start_background()

    def _start_background(self) -> None:
        tasks, plan = self._tasks, self._watch
        if file := plan.file:
            tasks.start("reload", Reloader(file, self._apply, self._output.say, plan.stamp).run)
        if self._reporter:
            tasks.start("live reporter", self._reporter.run)
        if store := plan.store:
            last = None if self._sharing else self._configuration
            sites = partial(sites_of, lambda: self._configuration, self.cameras)
            deletes = not plan.is_once
            start_upkeep(tasks, store, deletes=deletes, last_configuration=last, sites=sites)
        if store and self._sharing:
            watcher, note = self._sharing.watcher, self._note("left passes")
            tasks.start("leases", self._sharing.run)
            close = partial(close_left, store, watcher, lambda: self._configuration.sinks, note)
            tasks.start("left passes", close)

    async def _run_until_asked(self, stack: ExitStack) -> None:
        """Run until the sources end, a signal comes, or a vital task fails."""
        waits = [owner.wait_for_fatal() for owner in (self._tasks, self._gates) if owner]
        await run_until_asked(self._watch.ending, [self._work(stack), *waits])

    async def _work(self, stack: ExitStack) -> None:
        """Start all parts, and wait for the end of the sources."""
        await self._start(stack)
        if self._watch.is_once:
            await self._watcher.finish()
        else:
            await asyncio.Event().wait()

    async def _end(self) -> None:
        """Stop the cameras first, then the receivers of their events, and finally the sinks."""
        close = self._closing.run
        is_complete = self._watch.is_once and not self._watch.ending.is_asked
        self._is_ending = True
        await close("its tasks", lambda: self._tasks.stop(*STARTING))
        await close("the cameras", self._watcher.stop)
        steps = [close("the gates", self._gates.stop)] if self._gates else []
        if self._writer:
            steps.append(close("the store", self._writer.drain))
        await asyncio.gather(*steps)
        if self._sharing:
            await close("the leases", self._sharing.leave)
        if self._sinks and is_complete:
            await close("the sinks", partial(self._sinks.finish, self._output.say))
        await close("its tasks", self._tasks.stop)
        # For clips, the whole output is printed, even if its reader is slow.
        limit_s, printer = None if is_complete else CLOSE_S, self._output.printer
        await close("the output", lambda: asyncio.to_thread(printer.close, limit_s))

    async def _receive(self, event: PassEvent) -> None:
        """Open gates at once; then queue an event for the store, and print it."""
        if self._sharing:
            event = self._sharing.claim(event)
        if self._gates:
            self._gates.offer(event)
        try:
            if self._writer:
                await self._writer.put(event)
        finally:
            self._output.show_event(event)

    def _note(self, name: str, effect: str = "") -> Note:
        return lambda error: self._tasks.note(name, error, effect)

    def _make_writer(self) -> EventWriter | None:
        if self._watch.store is None:
            return None
        return EventWriter(
            self._watch.store,
            self._configuration.sinks,
            self._sinks.wake if self._sinks else lambda: None,
            note=self._note("writer", event_writer.EFFECT),
        )

    def _make_reporter(self) -> LiveReporter | None:
        if (store := self._watch.store) is None:
            return None
        return LiveReporter(
            store.live,
            lambda: self._watcher.loops,
            self._apply_cameras,
            blur=self._configuration.store.blur,
            watcher=self._sharing.watcher if self._sharing else None,
            note=self._note("live reporter", live_reporter.EFFECT),
            find_lists=store.lists.names,
        )

    def _make_sharing(self) -> CameraSharing | None:
        if (store := self._watch.store) is None or not self._watch.is_shared:
            return None
        cameras = SharedCameras(
            lambda: [camera.name for camera in self._configuration.cameras],
            self._follow_some,
            self._watcher.count_open,
            self._configuration.cameras_per_watcher,
        )
        sharing = CameraSharing(store.leases, cameras)
        self._watcher.permit = sharing.permit
        return sharing

    async def _apply_cameras(self) -> None:
        """Watch the cameras that are this watcher's, with the areas that were drawn for them."""
        if self._is_ending:
            return
        async with self._applying:
            configuration = self._configuration
            if self._reporter:
                configuration = self._reporter.apply_areas(configuration)
            cameras = configuration.cameras
            if self._sharing:
                cameras = tuple(camera for camera in cameras if camera.name in self._followed_names)
            await self._watcher.follow(cameras)

    async def _follow_some(self, names: Collection[str]) -> None:
        self._followed_names = {*names}
        await self._apply_cameras()

    def _configure_store(self, configuration: Configuration) -> None:
        """Tell the store of the cameras. It keeps them for later if it cannot write them now."""
        if self._watch.store:
            try:
                self._watch.store.configure(configuration.cameras)
            except Exception as error:
                self._tasks.note("writer", error, "the store does not know the cameras yet")

    async def _apply(self, configuration: Configuration) -> None:
        """Take over a changed configuration, or raise an exception and change nothing.

        Everything that may fail is made before anything old is closed.
        """
        receivers = await self._sinks.prepare(configuration) if self._sinks else None
        try:
            gates = await self._gates.prepare(configuration) if self._gates else None
            self._watcher.check(configuration.cameras)
            if self._gates and gates:
                await self._gates.commit(gates)
        except BaseException:
            await close_all(receivers)
            raise
        self._configuration = configuration
        if self._writer:
            self._writer.sinks = configuration.sinks
        await asyncio.to_thread(self._configure_store, configuration)
        if self._sinks:
            await self._sinks.commit(configuration, receivers)
        await self._apply_cameras()


async def watch(plan: Watch) -> None:
    """Watch cameras until they end, or until this process is asked to stop."""
    tasks = BackgroundTasks()
    async with Decoders(tasks=tasks) as decoders:
        await Session(plan, decoders, tasks).run()
