"""Events that the parent process sends to a running gateway, over its standard input."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from contextlib import closing

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.protocol.gateway_events import (
    Event,
    TritonMoved,
    WorkerDied,
    WorkersReplaced,
    event_from_json,
)

STDIN = 0

logger = logging.getLogger(__name__)


async def listen(service: DataPlane, file: int = STDIN) -> None:
    """Handle events from a pipe until its other end is closed. Other files hold no events."""
    if not stat.S_ISFIFO(os.fstat(file).st_mode):
        return
    reader = asyncio.StreamReader()
    with open(file, "rb", buffering=0, closefd=False) as pipe:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        with closing(transport):
            async for line in reader:
                try:
                    await handle(service, event_from_json(line.decode()))
                except (SettingsError, UnicodeDecodeError) as error:
                    logger.error("%s", error)


async def handle(service: DataPlane, event: Event) -> None:
    """Tell the service about one event."""
    match event:
        case TritonMoved():
            service.move(event)
        case WorkerDied():
            service.triton.note_death(event)
            if event.is_counted:
                service.metrics.note_death(event.model, event.reason)
        case WorkersReplaced():
            service.triton.throttle.end(event.model)
