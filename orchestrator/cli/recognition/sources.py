"""Finds the pictures that a command line names, one after the other, in any number."""

from __future__ import annotations

import codecs
import glob
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, takewhile
from pathlib import Path

from orchestrator.cli.recognition import zip_archives
from orchestrator.cli.recognition.address_policy import AddressPolicy
from orchestrator.cli.recognition.downloads import is_url, picture_at
from orchestrator.cli.recognition.picture_source import Source, make_placeholder
from orchestrator.cli.recognition.skipped_files import WANTED, SkippedFiles
from orchestrator.errors import PictureError
from orchestrator.host.text_lines import decode
from orchestrator.imaging.files import is_crop, is_drawing, read_all, read_file

STANDARD_INPUT = "-"


class PictureFinder:
    """Finds the pictures for names, and notes the files that it skips.

    Attributes:
        skipped_files: Files of folders and archives that are no pictures.
    """

    def __init__(
        self,
        *,
        is_recursive: bool = True,
        with_crops: bool = False,
        private_addresses: bool = False,
        report: Callable[[str], object] = lambda message: None,
    ) -> None:
        """Prepare the search.

        Args:
            is_recursive: Also search folders in folders.
            with_crops: Files that `--crops` wrote count as pictures.
            private_addresses: URLs of lists and redirects may lead to private addresses.
            report: Called for each folder and archive without pictures.
        """
        self.skipped_files = SkippedFiles()
        self._is_recursive = is_recursive
        self._with_crops = with_crops
        self._private_addresses = private_addresses
        self._report = report

    def find(self, names: Iterable[str], *, is_list: bool = False) -> Iterator[Source]:
        """Yield the named pictures, in order.

        Args:
            names: Each a file, a folder, a zip archive, a URL, a pattern with `*`, `?` or
                `[]`, or `-` for standard input.
            is_list: The names come from a list; the user did not type them.
        """
        policy = AddressPolicy.PUBLIC if is_list else AddressPolicy.TYPED
        policy = AddressPolicy.ALL if self._private_addresses else policy
        for name in names:
            if name == STANDARD_INPUT:
                yield Source("-", Path("stdin"), read_standard_input)
            elif is_url(name):
                yield picture_at(name, policy)
            else:
                yield from self._on_disk(name)

    def _on_disk(self, name: str) -> Iterator[Source]:
        if os.path.lexists(name):
            yield from self._at_path(Path(name))
        elif glob.has_magic(name):
            yield from self._match(name)
        else:
            yield make_placeholder(name, "no such file or folder")

    def _at_path(self, path: Path) -> Iterator[Source]:
        """Yield the pictures of a path; a named file is a picture, whatever its suffix."""
        if os.path.isdir(path):  # noqa: PTH112 - it never raises
            yield from self._or_report(path, "folder", self._below(path, path))
        elif path.suffix.lower() == zip_archives.SUFFIX:
            try:
                sources = zip_archives.pictures_in(path, self.skipped_files)
                yield from self._or_report(path, "archive", sources)
            except PictureError as error:
                yield make_placeholder(str(path), str(error))
        else:
            yield _file(path, Path(path.name))

    def _match(self, pattern: str) -> Iterator[Source]:
        """Yield the pictures that match a pattern; other files are counted, as in a folder."""
        parts = takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts)
        top = Path(*parts)
        matches = sorted(map(Path, glob.glob(pattern, recursive=True)))  # noqa: PTH207 - any root
        if not matches:
            yield make_placeholder(pattern, "no file has such a name")
        for path in matches:
            if path.is_dir() and "**" in pattern:
                continue  # its pictures match by themselves
            if path.is_dir() or path.suffix.lower() == zip_archives.SUFFIX:
                yield from self._at_path(path)
            elif self._is_picture(path):
                yield _file(path, path.relative_to(top))

    def _or_report(self, path: Path, kind: str, sources: Iterator[Source]) -> Iterator[Source]:
        """Yield the pictures inside, and report if there are none."""
        is_empty = True
        for source in sources:
            is_empty = False
            yield source
        if is_empty:
            self._report(f"{path}: no pictures in this {kind} ({WANTED})")

    def _below(
        self, folder: Path, top: Path, real_folders: set[str] | None = None
    ) -> Iterator[Source]:
        """Yield a folder's pictures in the order of their paths, without hidden ones."""
        real_folders = {os.path.realpath(top)} if real_folders is None else real_folders
        try:
            with os.scandir(folder) as entries:
                names = sorted((entry.name, entry.is_dir()) for entry in entries)
        except OSError as error:
            yield make_placeholder(str(folder), f"cannot be read: {error.strerror}")
            return
        for name, is_folder in names:
            path = folder / name
            if name.startswith("."):
                continue
            if not is_folder:
                if self._is_picture(path):
                    yield _file(path, path.relative_to(top))
            elif self._is_recursive and _enter(path, top, real_folders):
                yield from self._below(path, top, real_folders)

    def _is_picture(self, path: Path) -> bool:
        if not self.skipped_files.is_picture(path):
            return False
        if _is_special(path):
            self.skipped_files.special_files += 1
            return False
        is_made = is_drawing(path) or (not self._with_crops and is_crop(path))
        self.skipped_files.own_files += is_made
        return not is_made


def _is_special(path: Path) -> bool:
    """Tell whether a path is a named pipe, a socket or a device: reading it may never end."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:  # reading the picture gives the reason
        return False


def names_one_picture(name: str) -> bool:
    """Tell whether a name stands for one picture: a file, a URL or standard input."""
    if name == STANDARD_INPUT or is_url(name):
        return True
    is_archive = Path(name).suffix.lower() == zip_archives.SUFFIX
    return os.path.isfile(name) and not is_archive  # noqa: PTH113 - it never raises


def read_standard_input() -> bytes:
    """Return the content of standard input.

    Raises:
        PictureError: It is a terminal, or too large.
    """
    if sys.stdin.isatty():
        raise PictureError("wanted a picture from standard input, got a terminal")
    return read_all(sys.stdin.buffer)


def read_list(path: str) -> Iterator[str]:
    """Yield the lines of a list of names, without empty ones; `-` reads standard input.

    Raises:
        PictureError: It cannot be read.
    """
    try:
        if path == STANDARD_INPUT:
            yield from _names(iter(sys.stdin.buffer))
            return
        with Path(path).open("rb") as file:
            yield from _names(iter(file))
    except OSError as error:
        raise PictureError(f"{path}: cannot be read: {error.strerror}") from error


def _names(lines: Iterator[bytes]) -> Iterator[str]:
    first = next(lines, b"").removeprefix(codecs.BOM_UTF8)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # of PowerShell
        text = decode(first + b"".join(lines), errors="replace")
        lines = iter(text.encode().splitlines())
    else:
        lines = chain([first], lines)
    for line in lines:
        name = os.fsdecode(line.rstrip(b"\r\n"))
        if name.strip():
            yield name


def _file(path: Path, below: Path) -> Source:
    return Source(str(path), below, partial(_read, path))


def _read(path: Path) -> bytes:
    """Return a file's bytes; the error message does not repeat its name."""
    try:
        return read_file(path)
    except PictureError as error:
        raise PictureError(str(error).removeprefix(f"{path}: ")) from error


def _enter(folder: Path, top: Path, real_folders: set[str]) -> bool:
    """Tell whether to enter a folder: only once, and by its own path rather than by a link."""
    real = os.path.realpath(folder)
    is_shortcut = folder.is_symlink() and Path(real).is_relative_to(os.path.realpath(top))
    if real in real_folders or is_shortcut:
        return False
    real_folders.add(real)
    return True
