"""The state of all cameras in a terminal, redrawn several times a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table

from orchestrator.cameras.watching.status import CameraStatus
from orchestrator.cli.recognition.plate_table import to_printable

REFRESHES = 2
"""Redraws a second."""


class CameraTable:
    """Draws the cameras, and returns the lines above them.

    Args:
        take: Returns the states of the cameras.
        console: The terminal.
    """

    def __init__(self, take: Callable[[], Sequence[CameraStatus]], console: Console) -> None:
        self._take = take
        self.live = Live(
            get_renderable=self.draw, console=console, refresh_per_second=REFRESHES, transient=True
        )

    def draw(self) -> Table:
        """Return the table of all cameras now."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("camera", overflow="ellipsis", no_wrap=True, max_width=24)
        for name in ("state", "last plate"):
            table.add_column(name, no_wrap=True)
        for name in ("passes", "frames", "dropped", "delay"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", overflow="ellipsis", no_wrap=True)
        for one in self._take():
            table.add_row(
                to_printable(one.name),
                one.state,
                one.last_text or "-",
                f"{one.passes:,}",
                f"{one.frames:,}",
                f"{one.dropped_share:.0%}",
                f"{one.delay_s:.1f} s",
                to_printable(one.error),
            )
        return table
