"""One run of `plates watch`: starts all parts, follows the configuration, and stops in order."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from orchestrator.cameras.configuration import Configuration, read_configuration
from orchestrator.cameras.gates.gate_thread import GateThread
from orchestrator.cameras.pass_tracker import PassTracker
from orchestrator.cameras.passes import PassEvent
from orchestrator.cameras.sinks.deliverer import Deliverer
from orchestrator.cameras.sinks.registry import make_receivers
from orchestrator.cameras.sources.decoders import Decoders
from orchestrator.cameras.store.pass_store import PassStore
from orchestrator.cameras.watching.event_writer import EventWriter
from orchestrator.cameras.watching.frame_recognizer import FrameRecognizer, RecognizingClient
from orchestrator.cameras.watching.leases import CameraSharing, Shared
from orchestrator.cameras.watching.live_reporter import LiveReporter
from orchestrator.cameras.watching.metrics import Snapshot, serve_metrics
from orchestrator.cameras.watching.status import CameraStatus
from orchestrator.cameras.watching.watcher import Watcher
from orchestrator.cli.watch.background import (
    close_interrupted,
    delete_old,
    on_stop,
    replay_spool,
    running,
)
from orchestrator.cli.watch.gate_lines import print_opening
from orchestrator.cli.watch.live_table import CameraTable
from orchestrator.cli.watch.pass_table import PassTable
from orchestrator.errors import PlateError
from orchestrator.system.file_stamps import stamp_of

RELOAD_EVERY_S = 1.0
"""How often the file of cameras is looked at."""
CLOSE_LEFT_EVERY_S = 30.0


@dataclass(frozen=True)
class Watch:
    """The parts and choices of one run.

    Attributes:
        configuration: The cameras at the start.
        file: Their file, which is read again when it changes; None for none.
        client: The service.
        at_once: Frames that may be at the service at once.
        table: Turns events into lines.
        store: Keeps the passes; None keeps none.
        is_once: The sources end by themselves.
        is_shared: Other watchers follow some of the cameras; wants a store.
        has_live_table: The state of the cameras is drawn in the terminal.
    """

    configuration: Configuration
    file: Path | None
    client: RecognizingClient
    at_once: int
    table: PassTable
    store: PassStore | None = None
    is_once: bool = False
    is_shared: bool = False
    has_live_table: bool = False


class Session:
    """Runs the parts of a watch."""

    def __init__(self, watch: Watch, decoders: Decoders) -> None:
        self._watch = watch
        self._configuration = watch.configuration
        self._followed: set[str] = set()
        recognizer = FrameRecognizer(watch.client, watch.at_once)
        self._watcher = Watcher(decoders.open, PassTracker, recognizer, self._receive)
        self._gates = GateThread(watch.store, print_opening) if watch.store else None
        self._sharing = self._make_sharing()
        self._writer = self._make_writer()
        self._deliverer: Deliverer | None = None
        self._sinks = AsyncExitStack()
        self._applying = asyncio.Lock()
        self._reporter = self._make_reporter()

    async def run(self) -> None:
        """Watch until the sources end, or until this process is asked to stop."""
        async with AsyncExitStack() as stack:
            if self._writer:
                await stack.enter_async_context(running(self._writer.run()))
                stack.push_async_callback(self._writer.drain)
            await self._start_sinks()
            stack.push_async_callback(self._sinks.aclose)
            if self._watch.store:
                cameras = self._configuration.cameras
                await asyncio.to_thread(self._watch.store.configure, cameras)
            if self._gates:
                stack.push_async_callback(self._gates.stop)
                await self._gates.apply(self._configuration)
            stack.enter_context(self._serving_metrics())
            if self._reporter:
                await self._reporter.load()
            if self._sharing:
                stack.push_async_callback(self._sharing.leave)
            else:
                await self._apply_cameras()
            stack.push_async_callback(self._watcher.stop)
            stack.enter_context(self._drawing())
            await self._follow(stack)

    def snapshot(self) -> Snapshot:
        """Return the state of everything now."""
        store = self._watch.store
        return Snapshot(
            self.cameras(),
            self._deliverer.statuses if self._deliverer else (),
            self._writer.waiting if self._writer else 0,
            *self._spool(),
            gates=self._gates.statuses if self._gates else (),
            leases_lost=self._sharing.lost if self._sharing else 0,
            events_rejected=store.writer.rows.fence.rejected if store else 0,
            storage=store.storage() if store else None,
        )

    def _spool(self) -> tuple[int, int]:
        """Return the bytes that wait in the spool, and how many events it has deleted."""
        spool = self._watch.store.writer.spool if self._watch.store else None
        return (spool.bytes, spool.counts.dropped) if spool else (0, 0)

    def cameras(self) -> list[CameraStatus]:
        """Return the state of each camera now."""
        return [CameraStatus.of(loop) for loop in self._watcher.loops]

    async def _follow(self, stack: AsyncExitStack) -> None:
        """Wait for the end of the sources, or for a signal; reload and delete meanwhile."""
        if self._watch.file:
            await stack.enter_async_context(running(self._reload(self._watch.file)))
        if self._reporter:
            await stack.enter_async_context(running(self._reporter.run()))
        if self._sharing:
            await stack.enter_async_context(running(self._sharing.run()))
            await stack.enter_async_context(running(self._close_left(self._sharing)))
        if self._watch.store:
            await stack.enter_async_context(running(replay_spool(self._watch.store)))
        if self._watch.store and not self._watch.is_once:
            await stack.enter_async_context(running(delete_old(self._watch.store)))
            if not self._sharing:
                closing = close_interrupted(self._watch.store, self._configuration)
                await stack.enter_async_context(running(closing))
        stopped = asyncio.Event()
        with on_stop(stopped.set):
            waits: set[asyncio.Task[object]] = {asyncio.create_task(stopped.wait())}
            if self._watch.is_once:
                waits.add(asyncio.create_task(self._watcher.finish()))
            done, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in others:
            task.cancel()
        for task in done:
            task.result()

    async def _receive(self, event: PassEvent) -> None:
        """Open gates at once; then show an event, and queue it for the store."""
        if self._sharing:
            event = self._sharing.claim(event)
        if self._gates:
            self._gates.offer(event)
        for line in self._watch.table.to_lines(event):
            typer.echo(line)
        if self._writer:
            await self._writer.put(event)

    def _make_writer(self) -> EventWriter | None:
        if self._watch.store is None:
            return None
        return EventWriter(self._watch.store, self._configuration.sinks, self._wake_sinks)

    def _make_reporter(self) -> LiveReporter | None:
        if self._watch.store is None:
            return None
        live, watcher = self._watch.store.live, self._watcher
        return LiveReporter(
            live,
            lambda: watcher.loops,
            self._apply_cameras,
            blur=self._configuration.store.blur,
            watcher=self._sharing.watcher if self._sharing else None,
        )

    async def _apply_cameras(self) -> None:
        """Watch the cameras that are this watcher's, with the areas that were drawn for them."""
        async with self._applying:
            reporter, configuration = self._reporter, self._configuration
            drawn = reporter.drawn(configuration) if reporter else configuration
            own = [one for one in drawn.cameras if not self._sharing or one.name in self._followed]
            await self._watcher.follow(own)

    async def _close_left(self, sharing: CameraSharing) -> None:
        """Close passes that watchers which died have told of."""
        while self._watch.store:
            await asyncio.sleep(CLOSE_LEFT_EVERY_S)
            with suppress(PlateError):  # the database is away; the next round closes them
                unclosed, sinks = self._watch.store.unclosed, self._configuration.sinks
                left = await asyncio.to_thread(unclosed.of_former_owners, sharing.watcher)
                await asyncio.to_thread(self._watch.store.write, left, sinks)
                self._wake_sinks()

    def _make_sharing(self) -> CameraSharing | None:
        store = self._watch.store
        if store is None or not self._watch.is_shared:
            return None
        shared = Shared(
            lambda: [one.name for one in self._configuration.cameras],
            self._follow_some,
            self._watcher.count_open,
            self._configuration.cameras_per_watcher,
        )
        sharing = CameraSharing(store.leases, shared)
        self._watcher.permit = sharing.permit
        return sharing

    async def _follow_some(self, names: Collection[str]) -> None:
        """Follow the cameras that are this watcher's."""
        self._followed = {*names}
        await self._apply_cameras()

    def _wake_sinks(self) -> None:
        if self._deliverer:
            self._deliverer.wake()

    async def _start_sinks(self) -> None:
        """Deliver to the sinks of the configuration, and no longer to those before."""
        await self._sinks.aclose()
        receivers = make_receivers(self._configuration)
        store = self._watch.store
        self._deliverer = Deliverer(receivers, store.outbox) if receivers and store else None
        if self._deliverer:
            await self._sinks.enter_async_context(running(self._deliverer.run()))
        if self._writer:
            self._writer.sinks = self._configuration.sinks

    @contextmanager
    def _serving_metrics(self) -> Iterator[None]:
        port = self._configuration.metrics_port
        stop = (
            serve_metrics(self.snapshot, self._configuration.metrics_host, port) if port else None
        )
        try:
            yield
        finally:
            if stop:
                stop()

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        console = Console(stderr=True)
        is_drawn = self._watch.has_live_table and console.is_interactive
        with CameraTable(self.cameras, console).live if is_drawn else nullcontext():
            yield

    async def _reload(self, file: Path) -> None:
        """Follow changes of the file of cameras. A wrong file is told, and changes nothing."""
        stamp = stamp_of(file)
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            if (now := stamp_of(file)) == stamp:
                continue
            stamp = now
            try:
                configuration = read_configuration(file)
                if self._gates:
                    await self._gates.apply(configuration)
            except PlateError as error:
                typer.echo(f"not reloaded: {error}", err=True)
                continue
            await self._apply(configuration)
            typer.echo(f"reloaded {file}: {len(configuration.cameras)} cameras", err=True)

    async def _apply(self, configuration: Configuration) -> None:
        """Take over a changed configuration."""
        is_same = configuration.sinks == self._configuration.sinks
        self._configuration = configuration
        if self._watch.store:
            await asyncio.to_thread(self._watch.store.configure, configuration.cameras)
        if not is_same:
            await self._start_sinks()
        elif self._deliverer:  # `touch` of the file is how an operator enables a sink again
            self._deliverer.enable()
        await self._apply_cameras()


async def watch(plan: Watch) -> None:
    """Watch cameras until they end, or until this process is asked to stop."""
    async with Decoders() as decoders:
        await Session(plan, decoders).run()
