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
        usual_size: Usual number of pictures of a partition.
        is_pruned: Files of results that belong to no partition any more are removed.
        screen: Shows the progress.
        totals: The counts of the run.
    """

    job: Job
    spread: ActorPlan
    usual_size: int
    is_pruned: bool = False
    screen: ProgressOutput = field(default_factory=ProgressOutput)
    totals: Totals = field(default_factory=Totals)
    _failed_partitions: int = 0
    _away: int = 0

    def run(self) -> int:
        """Do the unfinished partitions; return the exit code.

        Raises:
            PlateError: The work could not start; the message gives the reason.
        """
        listing, parts = Listing(self.job.archive), ResultParts(self.job.out)
        parts.check_writable()
        old_names = parts.find()
        recognizer = identify(self.job.recognizer, self.job.parameters)
        partitions = cut(listing.pictures(), self.usual_size, recognizer)
        complete_names = old_names - parts.find_failed()
        unfinished = self._skip_done(partitions, names := set[str](), complete_names)
        status, reason = self._finish(unfinished)
        if not reason and names:
            self._report_stale(old_names - names, parts)
        for line in (*listing.skipped_files.report(), *self.totals.report(has_watchlist=False)):
            self.screen.report(line)
        if reason:
            self.screen.report(f"{reason} The same command goes on from here.")
        if not names and not reason:
            self.screen.report(f"{self.job.archive.name}: no pictures in this folder")
            return NOTHING_DONE
        return status

    def _skip_done(
        self, partitions: Iterable[Partition], names: set[str], complete_names: set[str]
    ) -> Iterator[Partition]:
        """Yield partitions without a file or with failed pictures; note the names of all."""
        for partition in partitions:
            names.add(partition.name)
            if partition.name in complete_names:
                self.totals.earlier_pictures += len(partition.pictures)
            else:
                yield partition

    def _finish(self, partitions: Iterator[Partition]) -> tuple[int, str]:
        """Work to the end, or until an error or interruption; return exit code and reason."""
        try:
            first = next(partitions, None)
            if first is None:
                return ALL_WELL, ""
            with self.spread.connect(), self.screen.progress(lambda: None):
                self.totals.started_s = time.monotonic()
                for outcome in self.spread.work(self.job, chain([first], partitions)):
                    self._take(outcome)
        except KeyboardInterrupt:
            return INTERRUPTED, "Stopped."
        except PlateError as error:
            if not self.totals.pictures:
                raise
            return SOME_FAILED, f"Stopped: {error}."
        if self._failed_partitions:
            return SOME_FAILED, f"{_count(self._failed_partitions, 'part')} could not be done."
        return SOME_FAILED if self.totals.failures else ALL_WELL, ""

    def _take(self, outcome: PartitionOutcome) -> None:
        """Count the outcome of a partition.

        Raises:
            ServerError: Too many partitions in a row failed.
        """
        totals = self.totals
        for line in outcome.messages[: max(0, MAX_REPORTED - totals.failures)]:
            self.screen.report(to_printable(line))
        totals.earlier_pictures += outcome.earlier_pictures
        totals.pictures += outcome.pictures
        totals.plates += outcome.plates
        totals.texts += outcome.texts
        totals.failures += outcome.failures
        for _ in range(outcome.pictures):
            self.screen.advance()
        self._away = self._away + 1 if outcome.is_away else 0
        if outcome.error:
            self._failed_partitions += 1
            self.screen.report(to_printable(f"{outcome.name}: not done: {outcome.error}"))
        if self._away == AWAY:
            raise ServerError(f"{AWAY} parts in a row without an answer: the rest was not tried")

    def _report_stale(self, names: set[str], parts: ResultParts) -> None:
        """Report files whose pictures or options have changed; remove them if asked to."""
        if not names:
            return
        files = _count(len(names), "file")
        if not self.is_pruned:
            self.screen.report(
                f"{files} of an earlier state of this archive, or of other options, still in "
                f"{self.job.out.name}: --prune removes what no present picture stands for"
            )
            return
        for name in sorted(names):
            parts.remove(name)
        self.screen.report(f"removed {files} of an earlier state of this archive")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
