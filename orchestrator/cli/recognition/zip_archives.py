"""Pictures in zip archives, read one by one without unpacking the archive to the disk."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from orchestrator.cli.recognition.picture_source import MAX_BYTES, MAX_MB, Source
from orchestrator.cli.recognition.skipped_files import SkippedFiles
from orchestrator.errors import PictureError

SUFFIX = ".zip"
UTF8_FLAG = 0x800
"""Flag of a member whose name is UTF-8."""
IN_RUSSIAN = re.compile("[A-Za-z\u0400-\u045f]")
MIXED_WORD = re.compile("[A-Za-z][\u0400-\u045f]|[\u0400-\u045f][A-Za-z]")
"""Latin beside Cyrillic letters: the name is of another code page."""
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError)
UNREADABLE = RuntimeError
"""Errors of zipfile for a member that is encrypted, or packed by an unknown method."""


def pictures_in(path: Path, skipped_files: SkippedFiles) -> Iterator[Source]:
    """Yield the pictures of an archive, in the order of their names, without hidden ones.

    The archive stays open until the last picture has been read and released.

    Raises:
        PictureError: The file is no zip archive.
    """
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGED as error:
        raise PictureError(f"cannot be read as a zip archive: {error}") from error
    names = sorted((_name_of(member), at) for at, member in enumerate(archive.infolist()))
    for name, at in names:
        member, inside = archive.infolist()[at], PurePosixPath(name)
        if member.is_dir() or _is_hidden(inside) or not skipped_files.is_picture(inside):
            continue
        yield Source(f"{path}/{inside}", _below(inside), partial(_read, archive, member))


def _name_of(member: zipfile.ZipInfo) -> str:
    """Return the name of a member, of which an archive may not tell the encoding.

    macOS writes UTF-8 without the flag for it, and a Russian Windows writes cp866. Without the
    flag, zipfile takes any name for cp437.
    """
    if member.flag_bits & UTF8_FLAG or member.filename.isascii():
        return member.filename
    try:
        raw = member.filename.encode("cp437")
    except UnicodeEncodeError:  # the name comes from a field that tells its encoding
        return member.filename
    try:
        return raw.decode()
    except UnicodeDecodeError:
        russian = raw.decode("cp866")
    is_russian = all(map(IN_RUSSIAN.fullmatch, filter(str.isalpha, russian)))
    return russian if is_russian and not MIXED_WORD.search(russian) else member.filename


def _is_hidden(inside: PurePosixPath) -> bool:
    """Tell whether a member is hidden, as in a folder, or is a file that macOS adds to archives."""
    return any(
        part == "__MACOSX" or (part.startswith(".") and part != "..") for part in inside.parts
    )


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
