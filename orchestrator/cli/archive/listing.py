"""Lists the pictures of an archive, their paths and sizes, always in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from orchestrator.cli.archive.packages import load
from orchestrator.cli.archive.storage import StorageFolder, call_storage
from orchestrator.cli.recognition.sources import PictureFinder
from orchestrator.errors import SettingsError


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
        skipped: Files that are no pictures.
    """

    def __init__(self, archive: StorageFolder) -> None:
        """Prepare the list.

        Raises:
            SettingsError: The folder does not exist, or its storage cannot be reached.
        """
        self._archive = archive
        self._storage = archive.open()
        self._finder = PictureFinder()
        self.skipped = self._finder.skipped
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
        inside = call_storage(self._archive, lambda: self._storage.get_file_info(selector))
        for info in sorted(inside, key=lambda info: str(info.base_name)):
            if info.base_name.startswith("."):
                continue
            if not info.is_file:
                yield from self._below(info.path)
            elif self.skipped.is_picture(PurePosixPath(info.path)):
                yield ArchivePicture(info.path[len(self._archive.path) + 1 :], info.size)
