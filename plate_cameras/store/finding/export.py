"""Exports passes: one line of JSON each, and their pictures, in a folder or a ZIP file."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Protocol

from orchestrator.host.disk_files import open_private
from plate_cameras.store.errors import StoreError, UnknownName
from plate_cameras.store.finding.pass_query import PassDetails
from plate_cameras.store.openings.gate_openings import GateOpening, to_line
from plate_cameras.store.writing.pictures import PictureStore

PASSES = "passes.jsonl"
OPENINGS = "openings.jsonl"
PICTURES = "pictures"


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

    Args:
        details: The passes.
        pictures: The store's pictures.
        target: A file `*.zip`, or a folder; neither may exist.
        openings: Records of gates, which are written, too.

    Returns:
        The number of passes.

    Raises:
        StoreError: The target exists, or cannot be written.
    """
    count, digests = 0, set[str]()
    with _open(target) as files, TemporaryFile(dir=target.parent) as lines:
        for detail in details:
            count += 1
            lines.write(_to_pass_line(detail))
            for digest in (detail.found_pass.crop, detail.found_pass.frame):
                if digest and digest not in digests and (picture := _read(pictures, digest)):
                    files.write(f"{PICTURES}/{digest}.jpg", picture)
                    digests.add(digest)
        lines.seek(0)
        files.copy(PASSES, lines)
        if content := b"".join(map(to_line, openings)):
            files.write(OPENINGS, content)
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


def _read(pictures: PictureStore, digest: str) -> bytes | None:
    """Return a picture; None when it was removed meanwhile."""
    try:
        return pictures.get(bytes.fromhex(digest))
    except UnknownName:
        return None
