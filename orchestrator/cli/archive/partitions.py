"""Partitions of an archive: each is one file of results, named by a digest of its pictures.

A run can therefore be resumed without a list of finished work. A file that exists is done, and a
file is written completely or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.cli.archive.listing import ArchivePicture

MAX_GROWTH = 2
"""Most pictures of a partition, as a multiple of the usual number."""
DIGEST_BYTES = 16
PREFIX, SUFFIX = "part-", ".parquet"


@dataclass(frozen=True)
class Partition:
    """Pictures whose results are in one file.

    Attributes:
        name: Name of that file: a digest of the question, and of the pictures' names and sizes.
        pictures: The pictures in their order.
    """

    name: str
    pictures: tuple[ArchivePicture, ...]


def cut(pictures: Iterable[ArchivePicture], usual: int, identity: str) -> Iterator[Partition]:
    """Cut a listing into partitions of `usual` pictures on average; the names decide where.

    One picture more or less in an archive then changes one partition, not all later ones.

    Args:
        pictures: The pictures, always in the same order.
        usual: Usual number of pictures of a partition; none has more than twice as many.
        identity: All else that the answers depend on: other settings give other partitions.

    Source: A. Tridgell, "Efficient Algorithms for Sorting and Synchronization", 1999 (boundaries by
    content, as of rsyncable files).
    """
    pending: list[ArchivePicture] = []
    for picture in pictures:
        pending.append(picture)
        if _ends_partition(picture, usual) or len(pending) == MAX_GROWTH * usual:
            yield _to_partition(pending, identity)
            pending = []
    if pending:
        yield _to_partition(pending, identity)


def is_part(name: str) -> bool:
    """Tell whether a file has the name of a file of results."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def _ends_partition(picture: ArchivePicture, usual: int) -> bool:
    digest = hashlib.blake2b(os.fsencode(picture.below), digest_size=8).digest()
    return int.from_bytes(digest, "big") % usual == 0


def _to_partition(pictures: list[ArchivePicture], identity: str) -> Partition:
    digest = hashlib.blake2b(identity.encode(), digest_size=DIGEST_BYTES)
    for below, size in pictures:
        digest.update(b"\0%s\0%d" % (os.fsencode(below), size))  # names contain no null byte
    return Partition(f"{PREFIX}{digest.hexdigest()}{SUFFIX}", tuple(pictures))
