"""The totals of all pictures, for the last lines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.cli.recognition.result_entry import Entry


@dataclass
class MadeFiles:
    """Counts files, and keeps a place for all of them.

    Attributes:
        count: How many they are.
        place: The path of a single file, else the folder that has all of them.
    """

    count: int = 0
    place: str = ""

    def add(self, path: Path) -> None:
        """Count a file."""
        self.place = os.path.commonpath([self.place, path]) or "." if self.count else str(path)
        self.count += 1


@dataclass
class Totals:
    """Counts of a run.

    Attributes:
        earlier_pictures: Pictures that an earlier run finished.
        pictures: Pictures finished now, including failed ones.
        plates: Plates found.
        texts: Plates with a text.
        hits: Plates on the watchlist.
        failures: Pictures that have no answer, or whose drawing could not be written.
        drawings: Drawings that were written.
        crops: Crops that were written.
        started_s: Monotonic time of the start.
    """

    earlier_pictures: int = 0
    pictures: int = 0
    plates: int = 0
    texts: int = 0
    hits: int = 0
    failures: int = 0
    drawings: MadeFiles = field(default_factory=MadeFiles)
    crops: MadeFiles = field(default_factory=MadeFiles)
    started_s: float = field(default_factory=time.monotonic)

    def add(self, entry: Entry, *, is_made: bool) -> None:
        """Count a picture.

        Args:
            entry: The result of the picture.
            is_made: Its drawing and crops could be written.
        """
        self.pictures += 1
        self.plates += len(entry.plates)
        self.texts += len(entry.plates.texts)
        self.hits += sum(hit is not None for hit in entry.hits or ())
        self.failures += bool(entry.error) or not is_made

    def report(self, *, has_watchlist: bool) -> Iterator[str]:
        """Yield the sentences of the summary."""
        seconds = time.monotonic() - self.started_s
        if self.drawings.count:
            yield f"{_count(self.drawings.count, 'picture')} drawn in {self.drawings.place}"
        if self.crops.count:
            yield f"{_count(self.crops.count, 'plate')} cut out to {self.crops.place}"
        if self.earlier_pictures:
            were = "was" if self.earlier_pictures == 1 else "were"
            yield f"{_count(self.earlier_pictures, 'picture')} {were} done before"
        rate = f", {self.pictures / seconds:.1f} a second" if self.pictures > 1 else ""
        plates = f"{_count(self.plates, 'plate')} found, {self.texts:,} read"
        flagged = f", {self.hits:,} on the watchlist" if has_watchlist else ""
        failed = f", {_count(self.failures, 'picture')} failed" if self.failures else ""
        summary = f"{_count(self.pictures, 'picture')} in {seconds:.1f} s{rate}"
        yield f"{summary}: {plates}{flagged}{failed}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
