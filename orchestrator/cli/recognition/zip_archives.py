"""Pictures in zip archives, read one by one without unpacking the archive to the disk."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from orchestrator.cli.recognition.picture_source import MAX_BYTES, MAX_MB, Source
from orchestrator.cli.recognition.skipped_files import Skipped
from orchestrator.errors import PictureError

SUFFIX = ".zip"
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError)
UNREADABLE = RuntimeError
"""Errors of zipfile for a member that is encrypted, or packed by an unknown method."""


def pictures_in(path: Path, skipped: Skipped) -> Iterator[Source]:
    """Yield the pictures of an archive, in the order of their names, without hidden ones.

    The archive stays open until the last picture has been read and released.

    Raises:
        PictureError: The file is no zip archive.
    """
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGED as error:
        raise PictureError(f"cannot be read as a zip archive: {error}") from error
    for member in sorted(archive.infolist(), key=lambda member: member.filename):
        inside = PurePosixPath(member.filename)
        if member.is_dir() or _is_hidden(inside) or not skipped.is_picture(inside):
            continue
        yield Source(f"{path}/{inside}", _below(inside), partial(_read, archive, member))


def _is_hidden(inside: PurePosixPath) -> bool:
    """Tell whether a member is hidden, as in a folder, or is a file that macOS adds to archives."""
    hidden = (
        part == "__MACOSX" or (part.startswith(".") and part != "..") for part in inside.parts
    )
    return any(hidden)


def _below(inside: PurePosixPath) -> Path:
    """Return the path for results of a member; it never leads outside the results' folder."""
    return Path(*(part for part in inside.parts if part not in {"/", "//", ".."}))


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Unpack one member, without trust in the size that it claims."""
    try:
        with archive.open(member) as file:
            content = file.read(MAX_BYTES + 1)
    except DAMAGED as error:
        raise PictureError(f"damaged in the archive: {error}") from error
    except UNREADABLE as error:
        raise PictureError(f"cannot be unpacked: {error}") from error
    if len(content) > MAX_BYTES:
        raise PictureError(f"wanted a picture of up to {MAX_MB} MB, got a larger one")
    return content
