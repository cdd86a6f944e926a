"""The pictures of an archive, listed always in the same order, and cut into partitions.

Each partition is one file of results, named by a digest of its pictures. A run can therefore be
resumed without a list of finished work. A file that exists is done, and a file is written as a
whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.cli.archive.storage import StorageFolder, call_storage, load
from orchestrator.cli.recognition.sources import PictureFinder
from orchestrator.errors import SettingsError

MAX_GROWTH = 2
"""Largest number of pictures of a partition, as a multiple of the usual number."""
DIGEST_BYTES = 16
PREFIX, SUFFIX = "part-", ".parquet"


class ArchivePicture(NamedTuple):
    """A picture of an archive.

    Attributes:
        below: Its path below the archive's folder.
        size: Bytes.
    """

    below: str
    size: int


class Listing:
    """Lists an archive folder by folder, so that memory holds the names of only one folder.

    Attributes:
        skipped_files: Files that are no pictures.
    """

    def __init__(self, archive: StorageFolder) -> None:
        """Prepare the list.

        Raises:
            SettingsError: The folder does not exist, or its storage cannot be reached.
        """
        self._archive = archive
        self._storage = archive.open()
        self._finder = PictureFinder()
        self.skipped_files = self._finder.skipped_files
        kind = call_storage(archive, lambda: self._storage.get_file_info(archive.path).type)
        if kind != load("pyarrow.fs").FileType.Directory:
            raise SettingsError(f"{archive.name}: no such folder")

    def pictures(self) -> Iterator[ArchivePicture]:
        """Yield the pictures, ordered by their paths, without hidden ones.

        Raises:
            SettingsError: A folder cannot be read.
        """
        return self._on_disk() if self._archive.is_on_disk else self._below(self._archive.path)

    def _on_disk(self) -> Iterator[ArchivePicture]:
        """List as `plates recognize` does: follow each link once, and leave drawings out."""
        for source in self._finder.find([self._archive.path]):
            if not source.is_there:  # a folder that may not be read
                raise SettingsError(f"{source.name}: cannot be listed")
            try:
                size = os.stat(source.name).st_size  # noqa: PTH116 - a name may be no UTF-8
            except OSError:  # removed since, or a broken link: reading it gives the error
                size = 0
            yield ArchivePicture(str(source.below), size)

    def _below(self, folder: str) -> Iterator[ArchivePicture]:
        selector = load("pyarrow.fs").FileSelector(folder)
        infos = call_storage(self._archive, lambda: self._storage.get_file_info(selector))
        for info in sorted(infos, key=lambda info: str(info.base_name)):
            if info.base_name.startswith("."):
                continue
            if not info.is_file:
                yield from self._below(info.path)
            elif self.skipped_files.is_picture(PurePosixPath(info.path)):
                yield ArchivePicture(info.path[len(self._archive.path) + 1 :], info.size)


@dataclass(frozen=True)
class Partition:
    """Pictures whose results are in one file.

    Attributes:
        name: Name of that file: a digest of the question, and of the pictures' names and sizes.
        pictures: The pictures in their order.
    """

    name: str
    pictures: tuple[ArchivePicture, ...]


def cut(pictures: Iterable[ArchivePicture], usual_size: int, identity: str) -> Iterator[Partition]:
    """Cut a listing into partitions of `usual_size` pictures on average; the names decide where.

    One picture more or less in an archive then changes one partition, not all later ones.

    Args:
        pictures: The pictures, always in the same order.
        usual_size: Usual number of pictures of a partition; none has more than twice as many.
        identity: All other settings that change the answers: a change of them gives new partitions.

    Source: A. Tridgell, "Efficient Algorithms for Sorting and Synchronization", 1999 (boundaries by
    content, as of rsyncable files).
    """
    batch: list[ArchivePicture] = []
    for picture in pictures:
        batch.append(picture)
        if _ends_partition(picture, usual_size) or len(batch) == MAX_GROWTH * usual_size:
            yield _to_partition(batch, identity)
            batch = []
    if batch:
        yield _to_partition(batch, identity)


def is_part(name: str) -> bool:
    """Tell whether a file has the name of a file of results."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def _ends_partition(picture: ArchivePicture, usual_size: int) -> bool:
    digest = hashlib.blake2b(os.fsencode(picture.below), digest_size=8).digest()
    return int.from_bytes(digest, "big") % usual_size == 0


def _to_partition(pictures: list[ArchivePicture], identity: str) -> Partition:
    digest = hashlib.blake2b(identity.encode(), digest_size=DIGEST_BYTES)
    for below, size in pictures:
        digest.update(b"\0%s\0%d" % (os.fsencode(below), size))  # names contain no null byte
    return Partition(f"{PREFIX}{digest.hexdigest()}{SUFFIX}", tuple(pictures))
