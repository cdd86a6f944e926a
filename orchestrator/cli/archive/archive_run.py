"""The run over an archive: lists it, skips finished partitions, spreads the rest and sums up."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from orchestrator.cli.archive.actor import MAX_REPORTED, Job, PartitionOutcome
from orchestrator.cli.archive.executor import ActorPlan
from orchestrator.cli.archive.listing import Listing, Partition, cut
from orchestrator.cli.archive.recognizers import identify
from orchestrator.cli.archive.result_parts import ResultParts
from orchestrator.cli.recognition.job import ALL_WELL, INTERRUPTED, NOTHING_DONE, SOME_FAILED
from orchestrator.cli.recognition.plate_table import to_printable
from orchestrator.cli.recognition.progress import ProgressOutput
from orchestrator.cli.recognition.totals import Totals
from orchestrator.errors import PlateError, ServerError

AWAY = 3
"""After this many partitions in a row without an answer of the server or storage, the run ends."""


@dataclass
class ArchiveRun:
    """Runs the recognition of an archive.

    Attributes:
        job: The job of the actors.
        spread: The actors and cores for the work.
        usual: Usual number of pictures of a partition.
        is_pruned: Files of results that belong to no partition any more are removed.
        screen: Shows the progress.
        totals: The counts of the run.
    """

    job: Job
    spread: ActorPlan
    usual: int
    is_pruned: bool = False
    screen: ProgressOutput = field(default_factory=ProgressOutput)
    totals: Totals = field(default_factory=Totals)
    _undone: int = 0
    _away: int = 0

    def run(self) -> int:
        """Do the unfinished partitions; return the exit code.

        Raises:
            PlateError: The work could not start; the message gives the reason.
        """
        listing, parts = Listing(self.job.archive), ResultParts(self.job.out)
        parts.check_writable()
        old = parts.find()
        recognizer = identify(self.job.recognizer, self.job.parameters)
        partitions = cut(listing.pictures(), self.usual, recognizer)
        complete = old - parts.find_failed()
        todo = self._skip_done(partitions, present := set[str](), complete)
        status, why = self._finish(todo)
        if not why and present:
            self._report_stale(old - present, parts)
        for line in (*listing.skipped.report(), *self.totals.report(has_watchlist=False)):
            self.screen.report(line)
        if why:
            self.screen.report(f"{why} The same command goes on from here.")
        if not present and not why:
            self.screen.report(f"{self.job.archive.name}: no pictures in this folder")
            return NOTHING_DONE
        return status

    def _skip_done(
        self, partitions: Iterable[Partition], present: set[str], complete: set[str]
    ) -> Iterator[Partition]:
        """Yield partitions without a file or with failed pictures; note the names of all."""
        for partition in partitions:
            present.add(partition.name)
            if partition.name in complete:
                self.totals.before += len(partition.pictures)
            else:
                yield partition

    def _finish(self, todo: Iterator[Partition]) -> tuple[int, str]:
        """Work to the end, or until an error or interruption; return exit code and reason."""
        try:
            first = next(todo, None)
            if first is None:
                return ALL_WELL, ""
            with self.spread.connect(), self.screen.progress(lambda: None):
                self.totals.began = time.monotonic()
                for outcome in self.spread.work(self.job, chain([first], todo)):
                    self._take(outcome)
        except KeyboardInterrupt:
            return INTERRUPTED, "Stopped."
        except PlateError as error:
            if not self.totals.pictures:
                raise
            return SOME_FAILED, f"Stopped: {error}."
        if self._undone:
            return SOME_FAILED, f"{_count(self._undone, 'part')} could not be done."
        return SOME_FAILED if self.totals.failed else ALL_WELL, ""

    def _take(self, outcome: PartitionOutcome) -> None:
        """Count the outcome of a partition.

        Raises:
            ServerError: Too many partitions in a row failed.
        """
        totals = self.totals
        for line in outcome.messages[: max(0, MAX_REPORTED - totals.failed)]:
            self.screen.report(to_printable(line))
        totals.before += outcome.earlier
        totals.pictures += outcome.pictures
        totals.plates += outcome.plates
        totals.read += outcome.read
        totals.failed += outcome.failed
        for _ in range(outcome.pictures):
            self.screen.advance()
        self._away = self._away + 1 if outcome.is_away else 0
        if outcome.undone:
            self._undone += 1
            self.screen.report(to_printable(f"{outcome.name}: not done: {outcome.undone}"))
        if self._away == AWAY:
            raise ServerError(f"{AWAY} parts in a row without an answer: the rest was not tried")

    def _report_stale(self, stale: set[str], parts: ResultParts) -> None:
        """Report files whose pictures or options have changed; remove them if asked to."""
        if not stale:
            return
        files = _count(len(stale), "file")
        if not self.is_pruned:
            self.screen.report(
                f"{files} of an earlier state of this archive, or of other options, still in "
                f"{self.job.out.name}: --prune removes what no present picture stands for"
            )
            return
        for name in sorted(stale):
            parts.remove(name)
        self.screen.report(f"removed {files} of an earlier state of this archive")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
