"""The run over pictures: recognises, writes and shows each one, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.cli.recognition.output_pictures import NewFiles, OutputFile
from orchestrator.cli.recognition.picture_handler import FinishedPicture, Recognizer
from orchestrator.cli.recognition.picture_source import Source
from orchestrator.cli.recognition.plate_table import to_printable
from orchestrator.cli.recognition.progress import ProgressOutput
from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.cli.recognition.result_files import Results
from orchestrator.cli.recognition.totals import Totals
from orchestrator.client.ordered_results import work_in_order
from orchestrator.errors import PictureError, ServerError

AWAY = 10
"""After this many pictures in a row without a server's answer, the run ends."""


@dataclass
class RecognitionRun:
    """Recognises pictures and distributes the results.

    Attributes:
        screen: Shows the results.
        to_lines: Returns the lines of a result that the screen shows.
        results: Files that accept the results.
        totals: The counts of the results.
    """

    screen: ProgressOutput
    to_lines: Callable[[Entry], Iterable[str]]
    results: Sequence[Results] = ()
    totals: Totals = field(default_factory=Totals)
    _new_files: NewFiles = field(default_factory=NewFiles)
    _away: int = 0

    def run(self, sources: Iterable[Source], recognizer: Recognizer, in_flight: int) -> None:
        """Recognise pictures; the result of each is written before the next result is handled.

        Raises:
            ServerError: The server no longer answers; the rest was not tried.
            SettingsError: A file of results cannot be written.
        """
        with closing(work_in_order(recognizer.recognize, sources, in_flight)) as pictures:
            for picture in pictures:
                self._take(picture)

    def _take(self, picture: FinishedPicture) -> None:
        entry = picture.entry
        paths = [self._make(entry, output) for output in picture.outputs]
        for results in self.results:
            results.write(entry)
        for line in self.to_lines(entry):
            self.screen.show(line)
        if picture.drawing_error:
            self.screen.report(
                to_printable(f"{entry.picture}: cannot be drawn: {picture.drawing_error}")
            )
        self.totals.add(entry, is_made=None not in paths and not picture.drawing_error)
        self.screen.advance()
        if remark := entry.error or entry.plates.note:
            self.screen.report(f"{to_printable(entry.picture)}: {to_printable(remark)}")
        self._away = self._away + 1 if picture.is_away else 0
        if self._away == AWAY:
            raise ServerError(f"no answer for {AWAY} pictures in a row: the rest was not tried")

    def _make(self, entry: Entry, picture: OutputFile) -> Path | None:
        """Write a drawing or crop; return its path, or None if it cannot be written."""
        try:
            path = self._new_files.write(picture)
        except PictureError as error:
            self.screen.report(to_printable(f"{entry.picture}: {error}"))
            return None
        (self.totals.crops if picture.is_crop else self.totals.drawings).add(path)
        return path
