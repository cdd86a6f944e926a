"""The output of a watch: passes, what gates did, messages and the table of cameras."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from rich.console import Console

from plate_cameras.passes import PassEvent
from plate_cameras.service.gate_lines import format_opening
from plate_cameras.service.live_table import CameraTable
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.printing import Printer
from plate_cameras.store.openings.gate_openings import GateOpening
from plate_cameras.watching.status import CameraStatus

LOG = logging.getLogger(__name__)


class Output:
    """Prints for people and programs. No call here waits or fails.

    Args:
        table: Turns events into lines.
        cameras: Returns the states of the cameras.
        has_live_table: The cameras are drawn if there is a terminal.

    Attributes:
        printer: Prints the lines.
    """

    def __init__(
        self,
        table: PassTable,
        cameras: Callable[[], Sequence[CameraStatus]],
        *,
        has_live_table: bool,
    ) -> None:
        console = Console(stderr=True)
        is_drawn = has_live_table and console.is_interactive
        self.printer = Printer(CameraTable(cameras, console) if is_drawn else None)
        self._table = table

    def show_event(self, event: PassEvent) -> None:
        """Print an event of a pass."""
        try:
            for line in self._table.to_lines(event):
                self.printer.print(line)
        except Exception:  # such as a time that no calendar has
            LOG.exception("a pass of %s cannot be printed", event.passed.camera)

    def show_opening(self, opening: GateOpening) -> None:
        """Print what a gate did."""
        self.say(format_opening(opening))

    def say(self, text: str) -> None:
        """Print a message for people."""
        self.printer.print(text, err=True)
