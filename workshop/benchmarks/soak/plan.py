"""The plan of a soak run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import check_range

CALLS = 1000
MAX_CALLS, MAX_MINUTES = 100_000_000, 60 * 24 * 31


@dataclass(frozen=True)
class Plan:
    """The length and the load of a soak run, and the paths of its report.

    Attributes:
        publish: The PNG file of the plot, in the folder of its page; None: not published.
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
            check_range("calls", self.calls, 1, MAX_CALLS)
        if self.minutes is not None:
            check_range("minutes", self.minutes, 0.01, MAX_MINUTES)
        check_range("callers", self.callers, 1, 64)
        check_range("every", self.every_s, 0.05, 3600)

    @property
    def length(self) -> str:
        """The length of the run, in words."""
        if self.calls is not None:
            return f"{self.calls:,} calls"
        return "1 minute" if self.minutes == 1 else f"{self.minutes:g} minutes"
