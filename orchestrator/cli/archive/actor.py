"""The work of one actor: recognises the pictures of a partition, and writes its file of results."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from orchestrator.cli.archive.listing import ArchivePicture, Partition
from orchestrator.cli.archive.recognizers import OwnNetworks, RunningServer
from orchestrator.cli.archive.result_parts import ResultParts
from orchestrator.cli.archive.storage import StorageFolder
from orchestrator.cli.recognition.picture_handler import FinishedPicture, Recognizer
from orchestrator.cli.recognition.picture_source import Source
from orchestrator.cli.recognition.result_entry import Row
from orchestrator.client.ordered_results import work_in_order
from orchestrator.errors import PictureError, PlateError, ServerError
from orchestrator.imaging.files import read_all

if TYPE_CHECKING:
    from orchestrator.client import PlateClient

MAX_REPORTED = 20
"""Most failed pictures of a partition that are reported by name; its file lists the rest."""


@dataclass(frozen=True)
class Job:
    """The job of all actors.

    Attributes:
        archive: Folder of the pictures.
        out: Folder of the results.
        recognizer: The recogniser.
        parameters: Parameters for each picture.
        in_flight: Pictures that each actor processes at once.
    """

    archive: StorageFolder
    out: StorageFolder
    recognizer: OwnNetworks | RunningServer
    parameters: Mapping[str, Any] = field(default_factory=dict)
    in_flight: int = 2


@dataclass(frozen=True)
class PartitionOutcome:
    """The outcome of a partition; only plain values, as Ray stores it in its tables.

    Attributes:
        name: Name of the partition's file.
        pictures: Number of pictures, including failed ones.
        plates: Number of plates found.
        texts: Number of these plates with a text.
        failures: Pictures that have an error instead of an answer.
        earlier_pictures: Further pictures, whose answers an earlier run wrote.
        messages: Lines about some of the failed pictures, one each.
        error: Reason why there is no file; empty if there is one.
        is_away: The server or the storage did not answer; the next partition may have no answer,
            too.
    """

    name: str
    pictures: int = 0
    plates: int = 0
    texts: int = 0
    failures: int = 0
    earlier_pictures: int = 0
    messages: Sequence[str] = ()
    error: str = ""
    is_away: bool = False


class ArchiveActor:
    """An actor of Ray Data: it handles many partitions, so that the networks are loaded once."""

    def __init__(self, job: Job) -> None:
        """Load the networks or connect to the server, and connect to both storages.

        Raises:
            PlateError: One of these fails.
        """
        self._job, self._stack = job, ExitStack()
        self._pictures, self._parts = job.archive.open(), ResultParts(job.out)
        client = self._stack.enter_context(job.recognizer.open())
        # the only method that is called
        self._recognizer = Recognizer(cast("PlateClient", client), job.parameters)

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Do the partition of a row of Ray Data; return its outcome as another row."""
        return asdict(self.work(from_row(row)))

    def work(self, partition: Partition) -> PartitionOutcome:
        """Recognise a partition's pictures and write their file; it replaces an old one.

        Answers in the old file are kept, and only failed pictures are tried again. If the server
        does not answer, no file is written, and the next run asks again.
        """
        finished_pictures: list[FinishedPicture] = []
        try:
            rows = self._read_answers(partition)
            pictures = [picture for picture in partition.pictures if picture.below not in rows]
            for picture, result in self._recognize(pictures):
                if result.is_away:
                    reason = f"{result.entry.picture}: {result.entry.error}"
                    return PartitionOutcome(partition.name, error=reason, is_away=True)
                columns = {"archive": self._job.archive.name, "bytes": picture.size}
                rows[picture.below] = [_to_parquet(row) | columns for row in result.entry.to_rows()]
                finished_pictures.append(result)
            all_rows = [row for picture in partition.pictures for row in rows[picture.below]]
            self._parts.write(partition.name, all_rows)
        except PlateError as error:
            return PartitionOutcome(partition.name, error=str(error), is_away=True)
        return _sum_up(partition, finished_pictures)

    def _read_answers(self, partition: Partition) -> dict[str, list[Row]]:
        """Return the rows of an earlier run by picture, without failed pictures."""
        rows_by_name: dict[str, list[Row]] = {}
        for row in self._parts.read_failed(partition.name):
            rows_by_name.setdefault(row["picture"], []).append(row)
        names = {picture.below: _to_utf8(self._name(picture)) for picture in partition.pictures}
        count = Counter(names.values())  # names that are not UTF-8 may look the same
        return {
            below: rows
            for below, name in names.items()
            if (rows := rows_by_name.get(name)) and count[name] == 1 and not rows[0]["error"]
        }

    def _recognize(
        self, pictures: Sequence[ArchivePicture]
    ) -> Iterator[tuple[ArchivePicture, FinishedPicture]]:
        sources = map(self._source, pictures)
        width = self._job.in_flight
        with closing(work_in_order(self._recognizer.recognize, sources, width)) as results:
            yield from zip(pictures, results, strict=True)

    def _source(self, picture: ArchivePicture) -> Source:
        read_picture = partial(self._read, picture.below)
        return Source(self._name(picture), Path(picture.below), read_picture)

    def _name(self, picture: ArchivePicture) -> str:
        return f"{self._job.archive.name.rstrip('/')}/{picture.below}"

    def _read(self, below: str) -> bytes:
        path = self._job.archive.inside(below)
        try:
            if self._job.archive.is_on_disk:  # names on a disk may not be UTF-8
                with Path(path).open("rb") as local_file:
                    return read_all(local_file)
            with self._pictures.open_input_stream(path) as file:
                return read_all(file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            # A silent storage says nothing about the picture, so the picture is tried again.
            is_gone = self._job.archive.is_on_disk or isinstance(error, FileNotFoundError)
            kind = PictureError if is_gone else ServerError
            raise kind(f"cannot be read: {reason}") from error


def to_row(partition: Partition) -> dict[str, Any]:
    """Return a partition as a row of Ray Data: names, no pixels."""
    return {
        "name": partition.name,
        "below": [os.fsencode(picture.below) for picture in partition.pictures],
        "sizes": [picture.size for picture in partition.pictures],
    }


def from_row(row: Mapping[str, Any]) -> Partition:
    """Return the partition from a row of `to_row`."""
    pictures = zip(map(os.fsdecode, row["below"]), map(int, row["sizes"]), strict=True)
    return Partition(str(row["name"]), tuple(ArchivePicture(*pair) for pair in pictures))


def _to_parquet(row: Row) -> Row:
    """Return a row for Parquet: the name of a file may not be UTF-8."""
    return row | {"picture": _to_utf8(row["picture"])}


def _to_utf8(name: str) -> str:
    return name.encode(errors="replace").decode()


def _sum_up(partition: Partition, finished_pictures: Sequence[FinishedPicture]) -> PartitionOutcome:
    entries = [picture.entry for picture in finished_pictures]
    failed_entries = [entry for entry in entries if entry.error]
    return PartitionOutcome(
        partition.name,
        pictures=len(entries),
        plates=sum(len(entry.plates) for entry in entries),
        texts=sum(len(entry.plates.texts) for entry in entries),
        failures=len(failed_entries),
        earlier_pictures=len(partition.pictures) - len(entries),
        messages=[f"{entry.picture}: {entry.error}" for entry in failed_entries[:MAX_REPORTED]],
    )
