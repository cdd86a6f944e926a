"""Connects a watch to its service and its store, and keeps other watchers away."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli import chosen_server
from orchestrator.client.aio import AsyncPlateClient
from orchestrator.errors import SettingsError
from plate_cameras.configuration import Store
from plate_cameras.service.ending import Ending
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.session import Watch, watch
from plate_cameras.service.targets import Target
from plate_cameras.store.factory import open_store
from plate_cameras.store.pass_store import PassStore

SUFFIX = ".lock"


@contextmanager
def hold_watch(file: Path, folder: Path, *, is_shared: bool) -> Iterator[None]:
    """Keep other watchers away from a file of cameras inside a `with` block.

    Two watchers that do not share would open a gate twice for each vehicle, and keep each pass
    twice. The kernel releases the lock however the process ends.

    Args:
        file: The file of cameras.
        folder: A folder that can be written to. The file's own may be read-only.
        is_shared: True if this watcher shares the cameras with others.

    Raises:
        SettingsError: Another watcher follows the file, and one of both does not share; or the
            folder cannot be used.
    """
    path = folder / f"{file.resolve().name}{SUFFIX}"
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, descriptor)
            kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SettingsError(
                f"{file}: another plates watch follows it already. Stop that one, or start each of "
                "them with --share"
            ) from error
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror or error}") from error
        yield


CLIP_RETRIES = 8
"""Retries of a clip's frames, which must not be lost; a live camera sends a newer frame instead."""


@dataclass(frozen=True)
class Run:
    """The options of one run.

    Attributes:
        address: URL of the service.
        timeout_s: Longest wait for an answer.
        table: Turns events into lines.
        out: Folder for passes, if the cameras are given on the command line.
        is_once: The sources are clips, which end.
        is_shared: The cameras are shared with other watchers.
    """

    address: str
    key: str | None
    timeout_s: float
    table: PassTable
    out: Path | None
    is_once: bool
    is_quiet: bool
    is_shared: bool = False


def run_watch(target: Target, run: Run) -> None:
    """Watch the cameras of a target until they end or the process is stopped.

    Raises:
        PlateError: The service or the store cannot be used.
        FatalTaskError: A task that the command needs has failed.
    """
    ending = Ending(outlives=True)
    at_once = chosen_server.fitting_calls(run.address, run.key, run.timeout_s)

    async def start(store: PassStore | None) -> None:
        client = AsyncPlateClient(
            run.address,
            key=run.key,
            timeout_s=run.timeout_s,
            retries=CLIP_RETRIES if run.is_once else 0,
        )
        async with client:
            await watch(
                Watch(
                    configuration=target.configuration,
                    file=target.file,
                    client=client,
                    at_once=at_once,
                    table=run.table,
                    store=store,
                    is_once=run.is_once,
                    is_shared=run.is_shared,
                    has_live_table=not run.is_quiet and not run.is_once,
                    ending=ending,
                    stamp=target.stamp,
                )
            )

    with ending.limit(), _keeping(target, run.out, is_shared=run.is_shared) as store:
        asyncio.run(start(store))


@contextmanager
def _keeping(target: Target, out: Path | None, *, is_shared: bool) -> Iterator[PassStore | None]:
    """Open the store of a target, or none."""
    if target.file and out:
        raise SettingsError("--out: wanted without a file of cameras, which has its own [store]")
    if not target.file and not out:
        yield None
        return
    if out:
        out.mkdir(parents=True, exist_ok=True)
    folder = out or (target.file.absolute().parent if target.file else Path())
    settings = target.configuration.store if target.file else Store()
    with ExitStack() as stack:
        if target.file:
            spool = settings.spool or folder / "spool"
            stack.enter_context(hold_watch(target.file, spool, is_shared=is_shared))
        yield stack.enter_context(closing(open_store(settings, folder, is_shared=is_shared)))
