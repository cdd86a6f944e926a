"""What the gateway's process is told while it runs, by who started it: over its standard input."""

from __future__ import annotations

import asyncio
import logging
import os
import stat

from orchestrator.errors import SettingsError
from orchestrator.gateway.handover import Died, Event, Moved, Renewed, event_from_json
from orchestrator.gateway.service import Service

STDIN = 0

logger = logging.getLogger(__name__)


async def listen(service: Service, file: int = STDIN) -> None:
    """Heed what comes over a pipe until its other end is closed; anything else says nothing."""
    if not stat.S_ISFIFO(os.fstat(file).st_mode):
        return
    reader = asyncio.StreamReader()
    with open(file, "rb", buffering=0, closefd=False) as pipe:
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        async for line in reader:
            try:
                await heed(service, event_from_json(line.decode()))
            except (SettingsError, UnicodeDecodeError) as error:
                logger.error("%s", error)


async def heed(service: Service, event: Event) -> None:
    """Let the service know of one event."""
    match event:
        case Moved():
            service.move(event)
        case Died():
            service.triton.lose(event)
            if event.is_counted:
                service.metrics.note_death(event.model, event.how)
        case Renewed():
            service.triton.easing.end(event.model)
