"""The state of all cameras in a terminal, redrawn several times a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orchestrator.cli.recognition.plate_table import to_printable
from plate_cameras.watching.status import CameraStatus

REDRAW_S = 0.5
"""Pause between two drawings."""


class CameraTable:
    """Draws the cameras below the lines of a terminal. One thread calls all of it."""

    def __init__(self, take: Callable[[], Sequence[CameraStatus]], console: Console) -> None:
        self._take = take
        # The caller redraws: a thread of rich would end with its first error.
        self._live = Live(
            get_renderable=self.draw,
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def start(self) -> None:
        """Begin to draw."""
        self._live.start(refresh=True)

    def redraw(self) -> None:
        """Draw the states of now."""
        self._live.refresh()

    def print_above(self, line: str) -> None:
        self._live.console.print(Text(line), soft_wrap=True)

    def stop(self) -> None:
        """Remove the table."""
        self._live.stop()

    def draw(self) -> Group:
        """Return the table of all cameras now, with the reasons of those that do not play below it.

        A reason has a line of its own: a column of reasons would leave no width for the others.
        """
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("camera", overflow="ellipsis", no_wrap=True, max_width=24)
        for name in ("state", "last plate"):
            table.add_column(name, no_wrap=True)
        for name in ("passes", "frames", "dropped", "delay"):
            table.add_column(name, justify="right", no_wrap=True)
        reasons = []
        for camera in self._take():
            table.add_row(
                Text(to_printable(camera.name)),  # a text in brackets is no markup
                camera.state,
                camera.last_text or "-",
                f"{camera.passes:,}",
                f"{camera.frames:,}",
                f"{camera.dropped_share:.0%}",
                f"{camera.delay_s:.1f} s",
            )
            if camera.error:
                reason = to_printable(f"{camera.name}: {camera.error}")
                reasons.append(Text(reason, no_wrap=True, overflow="ellipsis"))
        return Group(table, *reasons)
