"""An archive in partitions: each is one file of results, done or not, and named by what it holds.

That makes a run resumable without a list of what was done: a file that is there is done, and a file
is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.cli.archive.listing import Listed

LONGEST = 2
"""A partition ends at so many times its usual size at the latest."""
DIGEST_BYTES = 16
PREFIX, SUFFIX = "part-", ".parquet"


@dataclass(frozen=True)
class Partition:
    """Pictures whose results are one file.

    Attributes:
        name: Of that file: a digest of what is asked, and of the names and sizes of the pictures.
        pictures: In their order.
    """

    name: str
    pictures: tuple[Listed, ...]


def cut(pictures: Iterable[Listed], usual: int, asked: str) -> Iterator[Partition]:
    """Cut a listing where the names themselves say so, after one picture of `usual` on average.

    A picture more or less in an archive changes one partition, not all that come after it.

    Args:
        pictures: In an order that is always the same.
        usual: Pictures of a partition; none has more than twice as many.
        asked: What decides the answers beside the pictures: other settings, other partitions.

    Source: A. Tridgell, "Efficient Algorithms for Sorting and Synchronization", 1999 (boundaries by
    content, as of rsyncable files).
    """
    held: list[Listed] = []
    for picture in pictures:
        held.append(picture)
        if _ends_partition(picture, usual) or len(held) == LONGEST * usual:
            yield _to_partition(held, asked)
            held = []
    if held:
        yield _to_partition(held, asked)


def is_part(name: str) -> bool:
    """Tell whether a file is named like one of results."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def _ends_partition(picture: Listed, usual: int) -> bool:
    digest = hashlib.blake2b(os.fsencode(picture.below), digest_size=8).digest()
    return int.from_bytes(digest, "big") % usual == 0


def _to_partition(pictures: list[Listed], asked: str) -> Partition:
    digest = hashlib.blake2b(asked.encode(), digest_size=DIGEST_BYTES)
    for below, size in pictures:
        digest.update(b"\0%s\0%d" % (os.fsencode(below), size))  # no name has a null byte
    return Partition(f"{PREFIX}{digest.hexdigest()}{SUFFIX}", tuple(pictures))
