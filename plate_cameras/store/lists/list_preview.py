"""Tells what an import into a list would do, before it does it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import tzinfo

from plate_cameras.store.lists.list_file import FileRow, read_rows
from plate_cameras.store.lists.list_lookup import ListEntry


@dataclass(frozen=True)
class ImportPreview:
    """The effect that an import would have.

    Attributes:
        rows: The rows of the file, in order.
        added: Number of new entries.
        changed: Number of entries with another note, period or spelling.
        removed: Number of entries that would go.
    """

    rows: tuple[FileRow, ...]
    added: int
    changed: int
    removed: int

    @property
    def wrong(self) -> list[FileRow]:
        """Rows that prevent the import."""
        return [row for row in self.rows if row.entry is None]

    @property
    def doubtful(self) -> list[FileRow]:
        """Rows that are imported only if doubtful texts are accepted."""
        return [row for row in self.rows if row.entry and row.problem]


def preview_import(
    content: str,
    entries: Collection[ListEntry],
    *,
    replacing: bool = False,
    zone: tzinfo | None = None,
) -> ImportPreview:
    """Return what the import of a file would do, its doubtful rows included.

    Args:
        content: The file.
        entries: The entries of the list.
        replacing: True if all other entries would be removed.
        zone: The time zone of the file's days; None for that of this machine.

    Raises:
        ParameterError: The columns are unknown, or there are too many rows.
    """
    rows = tuple(read_rows(content, zone))
    new = {row.entry.text: row.entry for row in rows if row.entry}
    old = {entry.text: entry for entry in entries}
    return ImportPreview(
        rows,
        added=len(new.keys() - old.keys()),
        changed=sum(old[text] != new[text] for text in new.keys() & old.keys()),
        removed=len(old.keys() - new.keys()) if replacing else 0,
    )
