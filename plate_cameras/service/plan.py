"""The parts and choices of one run of `plates watch`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.client.aio import AsyncPlateClient
from plate_cameras.configuration import Configuration
from plate_cameras.service.ending import Ending
from plate_cameras.service.pass_table import PassTable
from plate_cameras.store.pass_store import PassStore


@dataclass(frozen=True)
class Watch:
    """The parts and choices of one run.

    Attributes:
        configuration: The cameras at the start.
        file: Their file, which is read again when it changes; None for none.
        at_once: Frames that may be at the service at once.
        table: Turns events into lines.
        store: Keeps the passes; None keeps none.
        is_once: The sources end by themselves.
        is_shared: Other watchers follow some of the cameras; wants a store.
        has_live_table: The state of the cameras is drawn in the terminal.
        ending: Takes the signals, and limits the end.
    """

    configuration: Configuration
    file: Path | None
    client: AsyncPlateClient
    at_once: int
    table: PassTable
    store: PassStore | None = None
    is_once: bool = False
    is_shared: bool = False
    has_live_table: bool = False
    ending: Ending = field(default_factory=Ending)
