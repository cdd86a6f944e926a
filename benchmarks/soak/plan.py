"""What a soak run is to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.toml_files import check_range

CALLS = 1000
MOST_CALLS, MOST_MINUTES = 100_000_000, 60 * 24 * 31


@dataclass(frozen=True)
class Plan:
    """How long, how hard, and where to write.

    Attributes:
        out: Folder of the report.
        calls: To be made; None: by time.
        minutes: To call for; None: by count.
        callers: At once.
        every_s: Between samples.
        publish: PNG file for the plot, beside the page that shows it; None: not published.
    """

    out: Path
    calls: int | None = None
    minutes: float | None = None
    callers: int = 4
    every_s: float = 1.0
    publish: Path | None = None

    def __post_init__(self) -> None:
        if (self.calls is None) == (self.minutes is None):
            raise SettingsError("soak: wanted --calls or --minutes, got both or none")
        if self.calls is not None:
            check_range("calls", self.calls, 1, MOST_CALLS)
        if self.minutes is not None:
            check_range("minutes", self.minutes, 0.01, MOST_MINUTES)
        check_range("callers", self.callers, 1, 64)
        check_range("every", self.every_s, 0.05, 3600)

    @property
    def length(self) -> str:
        """How long a run is, in words."""
        if self.calls is not None:
            return f"{self.calls:,} calls"
        return "1 minute" if self.minutes == 1 else f"{self.minutes:g} minutes"
