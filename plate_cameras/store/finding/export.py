"""Exports passes: one line of JSON each, and their pictures, in a folder or a ZIP file."""

from __future__ import annotations

import json
import logging
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Protocol

from orchestrator.host.disk_files import open_private
from plate_cameras.store.errors import StoreError, StoreUnavailable, UnknownName
from plate_cameras.store.finding.pass_query import PassDetails
from plate_cameras.store.openings.gate_openings import GateOpening, to_line
from plate_cameras.store.writing.pictures import PictureStore

PASSES = "passes.jsonl"
OPENINGS = "openings.jsonl"
PICTURES = "pictures"
MISSING = "missing-pictures.txt"
MAX_UNREADABLE = 10
"""Most pictures in a row that cannot be read. After them, the storage counts as away."""
LOG = logging.getLogger(__name__)


class ExportTarget(Protocol):
    """Takes the files of an export."""

    def write(self, name: str, content: bytes) -> None: ...

    def copy(self, name: str, source: BinaryIO) -> None: ...


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, content: bytes) -> None:
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def copy(self, name: str, source: BinaryIO) -> None:
        with (self._folder / name).open("wb") as file:
            shutil.copyfileobj(source, file)


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def write(self, name: str, content: bytes) -> None:
        self._archive.writestr(name, content)

    def copy(self, name: str, source: BinaryIO) -> None:
        with self._archive.open(name, "w", force_zip64=True) as file:
            shutil.copyfileobj(source, file)


def export_passes(
    details: Iterable[PassDetails],
    pictures: PictureStore,
    target: Path,
    openings: Iterable[GateOpening] = (),
) -> int:
    """Write passes and their pictures. One pass after the other is in memory.

    A file of the target names the pictures that are missing.

    Args:
        details: The passes.
        pictures: The store's pictures.
        target: A file `*.zip`, or a folder; neither may exist.
        openings: Records of gates, which are written, too.

    Returns:
        The number of passes.

    Raises:
        StoreError: The target exists, or cannot be written; or the pictures' storage is away.
    """
    count, reader = 0, _PictureReader(pictures)
    with _open(target) as files, TemporaryFile(dir=target.parent) as lines:
        for detail in details:
            count += 1
            lines.write(_to_pass_line(detail))
            for digest in (detail.found_pass.crop, detail.found_pass.frame):
                if digest and (picture := reader.read(digest)):
                    files.write(_name_of(digest), picture)
        lines.seek(0)
        files.copy(PASSES, lines)
        if content := b"".join(map(to_line, openings)):
            files.write(OPENINGS, content)
        if reader.missing:
            reasons = [f"{_name_of(digest)}: {why}\n" for digest, why in reader.missing.items()]
            files.write(MISSING, "".join(reasons).encode())
    return count


def _to_pass_line(details: PassDetails) -> bytes:
    table = asdict(details)
    document = {"found": table.pop("found_pass"), **table}
    return f"{json.dumps(document, ensure_ascii=False)}\n".encode()


@contextmanager
def _open(target: Path) -> Iterator[ExportTarget]:
    """Open a target; it appears when it is complete."""
    if target.exists():
        raise StoreError(f"{target}: wanted a name that is free, got one that exists")
    partial = target.with_name(f".{target.name}.partial")
    try:
        if target.suffix == ".zip":
            with (
                open(partial, "wb", opener=open_private) as file,
                zipfile.ZipFile(file, "w") as archive,  # JPEG does not compress
            ):
                yield _Zip(archive)
        else:
            partial.mkdir(mode=0o700)
            yield _Folder(partial)
        partial.rename(target)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}") from error
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        partial.unlink(missing_ok=True)


class _PictureReader:
    """Reads each picture once. One that cannot be read does not end the export.

    Attributes:
        missing: Reasons by the digests of pictures that could not be read.
    """

    def __init__(self, pictures: PictureStore) -> None:
        self._pictures = pictures
        self._digests = set[str]()
        self._in_a_row = 0
        self.missing: dict[str, str] = {}

    def read(self, digest: str) -> bytes | None:
        """Return a picture; None if it was read before, or cannot be read.

        Raises:
            StoreUnavailable: Many pictures in a row cannot be read.
        """
        if digest in self._digests:
            return None
        self._digests.add(digest)
        try:
            picture = self._pictures.get(bytes.fromhex(digest))
        except UnknownName as error:
            self.missing[digest] = str(error)
            return None
        except StoreUnavailable as error:
            self._in_a_row += 1
            if self._in_a_row == MAX_UNREADABLE:
                raise
            LOG.error("export: picture %s is missing: %s", digest, error)
            self.missing[digest] = str(error)
            return None
        self._in_a_row = 0
        return picture


def _name_of(digest: str) -> str:
    return f"{PICTURES}/{digest}.jpg"
